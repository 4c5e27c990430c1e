import { bigint, integer, pgSchema } from "drizzle-orm/pg-core";

export const orders = pgSchema("shop").table("orders", {
  id: bigint({ mode: "number" }).primaryKey().generatedByDefaultAsIdentity(),
  total: integer().notNull(),
});
