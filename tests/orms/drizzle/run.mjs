import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import { consume } from "./consumer.mjs";
import { event, takeOrder } from "./drizzle.mjs";
import { consumes, eventOf, scenario, url } from "../scenario.mjs";
import { orders } from "./shop.mjs";

const pool = new pg.Pool({ connectionString: url });
const db = drizzle(pool);
if (consumes) {
  await consume(pool);
} else {
  await scenario({
    takeOrder: (total) => takeOrder(db, total),
    fails: (total, error) => db.transaction(async (tx) => {
      const [{ id }] = await tx.insert(orders).values({ total }).returning({ id: orders.id });
      await tx.insert(event).values(eventOf(id, total)).returning({ id: event.id });
      throw error;
    }),
    takeMany: (totals) => db.transaction(async (tx) => {
      const taken = await tx.insert(orders).values(totals.map((total) => ({ total }))).returning();
      await tx.insert(event).values(taken.map(({ id, total }) => eventOf(id, total)));
    }),
  });
  await pool.end();
}
