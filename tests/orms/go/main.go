// pgx: takes an order, rolls one back, and takes three at once; or consumes. Arguments: produce or consume, a URL
// of libpq's.
package main

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	db, err := pgxpool.Connect(ctx, os.Args[2])
	check(err)
	if os.Args[1] == "consume" {
		check(consume(ctx, db))
		log.Fatal("The channel is closed.")
	}
	for _, totals := range [][]int{{10}, {11}, {12, 13, 14}} {
		tx, err := db.Begin(ctx)
		check(err)
		for _, total := range totals {
			check(takeOrder(ctx, tx, total))
		}
		if totals[0] == 11 {
			check(tx.Rollback(ctx))
		} else {
			check(tx.Commit(ctx))
		}
	}
}
