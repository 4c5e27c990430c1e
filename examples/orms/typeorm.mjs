// An order and its event, in one transaction.
import { EntitySchema } from "typeorm";
import { Order } from "./shop.mjs";

export const Event = new EntitySchema({
  name: "Event",
  schema: "outbox",
  tableName: "event",
  columns: {
    id: { type: "uuid", primary: true, generated: "uuid" },
    aggregate_type: { type: "text" },
    aggregate_id: { type: "text" },
    event_type: { type: "text" },
    payload: { type: "jsonb" },
    headers: { type: "jsonb", nullable: true },
    available_at: { type: "timestamptz", nullable: true },
  },
});

export async function takeOrder(dataSource, total) {
  await dataSource.transaction(async (manager) => {
    const { id } = await manager.save(Order, { total });
    await manager.insert(Event, {
      aggregate_type: "order", aggregate_id: id, event_type: "order.created", payload: { id, total },
    });
  });
}
