// An order and its event, in one transaction.
import { jsonb, pgSchema, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { orders } from "./shop.mjs";

export const event = pgSchema("outbox").table("event", {
  id: uuid().primaryKey().defaultRandom(),
  aggregate_type: text().notNull(),
  aggregate_id: text().notNull(),
  event_type: text().notNull(),
  payload: jsonb().notNull(),
  headers: jsonb(),
  available_at: timestamp({ withTimezone: true }),
});

export async function takeOrder(db, total) {
  await db.transaction(async (tx) => {
    const [{ id }] = await tx.insert(orders).values({ total }).returning({ id: orders.id });
    await tx.insert(event).values({
      aggregate_type: "order", aggregate_id: String(id), event_type: "order.created", payload: { id, total },
    });
  });
}
