// Writes an invoice for each order, once, however often its event is delivered. pg and amqplib.
//
//   npm install; DATABASE_URL=postgresql://... AMQP_URL=amqp://... node consumer.js
import amqp from "amqplib";
import pg from "pg";

const name = "invoices.node"; // of the queue, and of the effect for first_time
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

async function handle(eventId, order) {
  // The record of the event and its effect are committed together.
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT outbox.first_time($1, $2) AS first", [name, eventId]);
    if (rows[0].first) {
      await client.query("INSERT INTO shop.invoices (consumer, order_id, total) VALUES ($1, $2, $3)", [
        name,
        order.id,
        order.total,
      ]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

const channel = await (await amqp.connect(process.env.AMQP_URL)).createChannel();
await channel.assertExchange("outbox", "topic", { durable: true });
await channel.assertQueue(name, { durable: true });
await channel.bindQueue(name, "outbox", "order.created");
// One at a time: amqplib does not wait for a handler before it calls the next, and order would be lost.
await channel.prefetch(1);
await channel.consume(name, async (message) => {
  try {
    await handle(message.properties.messageId, JSON.parse(message.content));
    // Only now: whatever fails before brings the message back.
    channel.ack(message);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
});
console.log("waits for orders");
