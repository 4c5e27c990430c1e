// Consumes a queue, reads each message with the CloudEvents SDK, strictly, and compares it with the rows.
//   node check.mjs AMQP_URL QUEUE KEY            makes the queue, and binds it to the exchange outbox
//   node check.mjs AMQP_URL QUEUE --rows FILE    reads it, and deletes it; the file: [{id, event_type, ...}]
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import amqp from 'amqplib';
import { HTTP, ValidationError } from 'cloudevents';

const [url, queue, key, rowsFile] = process.argv.slice(2);
const connection = await amqp.connect(url);
const channel = await connection.createChannel();
if (key !== '--rows') {
  await channel.assertExchange('outbox', 'topic', { durable: true });
  await channel.assertQueue(queue, { durable: true });
  await channel.bindQueue(queue, 'outbox', key);
  await connection.close();
  process.exit(0);
}
const rows = new Map(JSON.parse(readFileSync(rowsFile, 'utf8')).map((row) => [row.id, row]));
const expected = rows.size;

// The SDK has a binding for HTTP and none for AMQP: with the prefix ce- the two have the same headers.
function toEvent(message) {
  const headers = { 'content-type': message.properties.contentType };
  for (const [name, value] of Object.entries(message.properties.headers))
    if (name.startsWith('ce-')) headers[name] = value;
  return HTTP.toEvent({ headers, body: message.content.toString('utf8') });
}

function check(message) {
  const event = toEvent(message);
  assert.ok(event.validate(), 'the event is valid');
  const row = rows.get(event.id);
  assert.ok(row, `${event.id} is one of the rows, once`);
  rows.delete(event.id);
  assert.equal(event.id, message.properties.messageId);
  assert.equal(event.specversion, '1.0');
  assert.equal(event.source, '/shop');
  assert.equal(event.type, row.event_type);
  assert.equal(event.subject, row.aggregate_id);
  assert.equal(event.partitionkey, row.aggregate_id);
  assert.equal(event.aggregatetype, row.aggregate_type);
  assert.equal(event.sequence, String(row.seq).padStart(19, '0'));
  assert.equal(new Date(event.time).getTime(), new Date(row.created_at).getTime());
  assert.equal(event.datacontenttype, 'application/json');
  assert.equal(event.traceparent, row.headers.traceparent);
  assert.equal(event.tracestate, row.headers.tracestate);
  assert.deepEqual(event.data, row.payload);
}

const timer = setTimeout(() => {
  console.error(`${rows.size} of ${expected} events have not come: ${[...rows.keys()].slice(0, 3).join(', ')}`);
  process.exit(1);
}, 60_000);
await channel.consume(queue, (message) => {
  if (message === null) return;  // the queue is deleted
  try {
    check(message);
  } catch (wrong) {
    console.error(message.content.toString('utf8'));
    console.error(wrong instanceof ValidationError ? wrong.errors : wrong);
    process.exit(1);
  }
  channel.ack(message);
  if (rows.size > 0) return;
  clearTimeout(timer);
  console.log(`${expected} events, each valid and as its row says`);
  channel.deleteQueue(queue).then(() => connection.close()).then(() => process.exit(0));
});
