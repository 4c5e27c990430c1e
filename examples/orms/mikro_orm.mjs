// An order and its event, in one transaction.
import { EntitySchema } from "@mikro-orm/core";
import { Order } from "./shop.mjs";

export const Event = new EntitySchema({
  name: "Event",
  schema: "outbox",
  tableName: "event",
  properties: {
    id: { type: "uuid", primary: true, defaultRaw: "gen_random_uuid()" },
    aggregate_type: { type: "text" },
    aggregate_id: { type: "text" },
    event_type: { type: "text" },
    payload: { type: "json" },
    headers: { type: "json", nullable: true },
    available_at: { type: "timestamptz", nullable: true },
  },
});

export async function takeOrder(em, total) {
  await em.transactional(async (fork) => {
    const order = fork.create(Order, { total });
    await fork.flush(); // gives the order its id
    fork.create(Event, {
      aggregate_type: "order", aggregate_id: String(order.id), event_type: "order.created",
      payload: { id: order.id, total },
    });
  });
}
