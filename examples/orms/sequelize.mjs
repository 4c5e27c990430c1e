// An order and its event, in one transaction.
import { DataTypes } from "sequelize";
import { Order, sequelize } from "./shop.mjs";

export const Event = sequelize.define("Event", {
  id: { type: DataTypes.UUID, primaryKey: true, defaultValue: DataTypes.UUIDV4 },
  aggregate_type: DataTypes.TEXT,
  aggregate_id: DataTypes.TEXT,
  event_type: DataTypes.TEXT,
  payload: DataTypes.JSONB,
  headers: DataTypes.JSONB,
  available_at: DataTypes.DATE,
}, { schema: "outbox", tableName: "event", timestamps: false });

export async function takeOrder(total) {
  await sequelize.transaction(async (transaction) => {
    const order = await Order.create({ total }, { transaction });
    await Event.create({
      aggregate_type: "order", aggregate_id: order.id, event_type: "order.created",
      payload: { id: order.id, total },
    }, { transaction, returning: ["id"] });
  });
}
