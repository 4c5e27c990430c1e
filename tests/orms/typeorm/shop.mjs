import { EntitySchema } from "typeorm";

export const Order = new EntitySchema({
  name: "Order",
  schema: "shop",
  tableName: "orders",
  columns: { id: { type: "bigint", primary: true, generated: "identity" }, total: { type: "int" } },
});
