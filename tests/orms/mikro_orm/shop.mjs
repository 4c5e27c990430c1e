import { EntitySchema } from "@mikro-orm/core";

export const Order = new EntitySchema({
  name: "Order",
  schema: "shop",
  tableName: "orders",
  properties: { id: { type: "integer", primary: true, autoincrement: true }, total: { type: "integer" } },
});
