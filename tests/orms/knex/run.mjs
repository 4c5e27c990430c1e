import makeKnex from "knex";
import { eventOf, scenario, url } from "../scenario.mjs";
import { takeOrder } from "./sample.mjs";

const knex = makeKnex({ client: "pg", connection: url });
await scenario({
  takeOrder: (total) => takeOrder(knex, total),
  fails: (total, error) => knex.transaction(async (trx) => {
    const [{ id }] = await trx.withSchema("shop").insert({ total }, ["id"]).into("orders");
    await trx.withSchema("outbox").insert(eventOf(id, total), ["id"]).into("event");
    throw error;
  }),
  takeMany: (totals) => knex.transaction(async (trx) => {
    const orders = await trx.withSchema("shop").insert(totals.map((total) => ({ total })), ["id", "total"]).into("orders");
    await trx.batchInsert("outbox.event", orders.map(({ id, total }) => eventOf(id, total)));
  }),
});
await knex.destroy();
