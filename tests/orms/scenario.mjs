// What each mapper of Node.js does: takes an order, rolls one back, and takes three at once. Arguments: produce or
// consume, a URL of libpq's.
export const consumes = process.argv[2] === "consume";
export const url = process.argv[3];

export const eventOf = (id, total) => ({
  aggregate_type: "order", aggregate_id: String(id), event_type: "order.created", payload: { id: Number(id), total },
});

// fails(total, error): takes an order in a transaction that then throws the error.
export async function scenario({ takeOrder, fails, takeMany }) {
  await takeOrder(10);
  const rolledBack = new Error("rolled back");
  let thrown;
  await fails(11, rolledBack).catch((error) => { thrown = error; });
  if (thrown !== rolledBack) throw thrown ?? new Error("The transaction was to be rolled back, and is not.");
  await takeMany([12, 13, 14]);
}
