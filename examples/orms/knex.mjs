// An order and its event, in one transaction.
export async function takeOrder(knex, total) {
  await knex.transaction(async (trx) => {
    const [{ id }] = await trx.withSchema("shop").insert({ total }, ["id"]).into("orders");
    await trx.withSchema("outbox").insert({
      aggregate_type: "order", aggregate_id: id, event_type: "order.created", payload: { id, total },
    }).into("event");
  });
}
