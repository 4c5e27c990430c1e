// Takes orders: each one and its event are written in one transaction. pg.
//
//   npm install; DATABASE_URL=postgresql://... node producer.js 10
import pg from "pg";

async function takeOrder(client, total) {
  // Both are committed, or neither is.
  await client.query("BEGIN");
  try {
    const { rows } = await client.query("INSERT INTO shop.orders (total) VALUES ($1) RETURNING id", [total]);
    const id = rows[0].id;
    await client.query(
      `INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)
       VALUES ('order', $1, 'order.created', $2)`,
      [id, JSON.stringify({ id, total: String(total) })],
    );
    await client.query("COMMIT");
    return id;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
for (let i = 0; i < Number(process.argv[2] ?? 1); ++i) console.log("took order", await takeOrder(client, 10 + i));
await client.end();
