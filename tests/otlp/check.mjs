// Is the collector of a relay: reads its spans with the published schema of OTLP, strictly, and compares each
// with the row and with the message of its event.
//   node check.mjs AMQP_URL QUEUE KEY                 makes the queue, and binds it to the exchange outbox
//   node check.mjs AMQP_URL QUEUE --rows FILE PROGRAM runs the relay and reads the queue, which it deletes; the
//                                                     file: [{id, seq, created_at, headers, ...}]
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import amqp from 'amqplib';

const require = createRequire(import.meta.url);
const { opentelemetry } = require(
  './node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js');
const requestType = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const { SpanKind } = opentelemetry.proto.trace.v1.Span;

const [url, queue, key, rowsFile, program] = process.argv.slice(2);
const connection = await amqp.connect(url);
const channel = await connection.createChannel();
if (key !== '--rows') {
  await channel.assertExchange('outbox', 'topic', { durable: true });
  await channel.assertQueue(queue, { durable: true });
  await channel.bindQueue(queue, 'outbox', key);
  await connection.close();
  process.exit(0);
}
const rows = JSON.parse(readFileSync(rowsFile, 'utf8'));
const isSampled = (row) => /^00-.*-01$/.test(row.headers.traceparent ?? '');
const expected = rows.filter(isSampled).length;

const ids = ['traceId', 'spanId', 'parentSpanId'];
const spansOf = (request) =>
  request.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans));

// In OTLP's JSON ids are hex, where protobuf's has base64. What the schema does not know, or knows with another
// type, is not there any more after a way through its binary form.
function readStrictly(text) {
  const wanted = JSON.parse(text);
  const given = JSON.parse(text);
  for (const span of spansOf(given)) for (const id of ids) span[id] = Buffer.from(span[id], 'hex');
  const binary = requestType.encode(requestType.fromObject(given)).finish();
  const got = requestType.toObject(requestType.decode(binary), { longs: String, enums: Number });
  for (const span of spansOf(got)) for (const id of ids) span[id] = Buffer.from(span[id]).toString('hex');
  assert.deepEqual(JSON.parse(JSON.stringify(got)), wanted);
  return spansOf(got);
}

const spans = new Map();
const messages = new Map();
const arrived = {};
arrived.promise = new Promise((resolve, reject) => Object.assign(arrived, { resolve, reject }));
arrived.promise.catch(() => {});
const look = () => spans.size >= expected && messages.size >= rows.length && arrived.resolve();

const collector = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (more) => (text += more));
  request.on('end', () => {
    try {
      assert.equal(request.method, 'POST');
      assert.equal(request.url, '/v1/traces');
      assert.equal(request.headers['content-type'], 'application/json');
      for (const span of readStrictly(text)) {
        const attributes = Object.fromEntries(span.attributes.map((one) => [one.key, one.value]));
        const id = attributes['messaging.message.id'].stringValue;
        assert.ok(!spans.has(id), `${id} is one span`);
        spans.set(id, { span, attributes });
      }
    } catch (wrong) {
      arrived.reject(wrong);
    }
    response.setHeader('content-type', 'application/json').end('{"partialSuccess":{}}');
    look();
  });
});
await once(collector.listen(0, '127.0.0.1'), 'listening');
const endpoint = `http://127.0.0.1:${collector.address().port}`;
const { consumerTag } = await channel.consume(queue, (message) => {
  messages.set(message.properties.messageId, message);
  channel.ack(message);
  look();
});
const relay = spawn(program, ['run', '--otlp-endpoint', endpoint], { stdio: ['ignore', 'ignore', 'inherit'] });
const ended = once(relay, 'exit');
ended.then(() => arrived.reject(new Error('the relay has ended')));
const timer = setTimeout(
  () => arrived.reject(new Error(`${spans.size} of ${expected} spans, ${messages.size} messages`)), 60_000);

function check(row) {
  const sent = messages.get(row.id).properties.headers.traceparent;
  if (!isSampled(row)) {
    assert.equal(sent, row.headers.traceparent);
    assert.ok(!spans.has(row.id));
    return;
  }
  const { span, attributes } = spans.get(row.id);
  const [, trace, parent] = row.headers.traceparent.split('-');
  assert.equal(span.traceId, trace);
  assert.equal(span.parentSpanId, parent);
  assert.equal(sent, `00-${trace}-${span.spanId}-01`);
  assert.equal(span.traceState, row.headers.tracestate);
  assert.equal(span.kind, SpanKind.SPAN_KIND_PRODUCER);
  assert.equal(span.name, `send outbox:${row.event_type}`);
  assert.equal(span.startTimeUnixNano, `${row.created_us}000`);
  assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
  assert.equal(attributes['messaging.system'].stringValue, 'rabbitmq');
  assert.equal(attributes['messaging.operation.type'].stringValue, 'send');
  assert.equal(attributes['messaging.destination.name'].stringValue, `outbox:${row.event_type}`);
  assert.equal(attributes['messaging.rabbitmq.destination.routing_key'].stringValue, row.event_type);
  assert.equal(attributes['outboxd.seq'].intValue, String(row.seq));
  assert.equal(attributes['outboxd.aggregate_id'].stringValue, row.aggregate_id);
  assert.ok(attributes['outboxd.outbox_seconds'].doubleValue >= 0);
}

try {
  await arrived.promise;
  for (const row of rows) check(row);
  relay.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  console.log(`${expected} spans of ${rows.length} events, each valid and as its row and its message say`);
} catch (wrong) {
  console.error(wrong);
  relay.kill('SIGKILL');
  process.exitCode = 1;
}
clearTimeout(timer);
collector.close();
await channel.cancel(consumerTag);
await channel.deleteQueue(queue);
await connection.close();
