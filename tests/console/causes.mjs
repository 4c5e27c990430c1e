// causes: faults are planted, and the page says the cause in its first sentence; then they are mended, by the
// page's own buttons where it has some. For check.mjs.
import {execFile, execFileSync, spawn} from 'node:child_process';
import {as_actor, close, confirm, go} from './act.mjs';
import {bind_queue, check, database, delete_queue, ends_with_us, memory_limit, outboxd, says, sql} from './page.mjs';

const usual_memory = '0.4'; // RabbitMQ's own, as a part of the machine's

// Runs beside the page, until it is told to end.
function start(program, words, options = {}) {
  const child = ends_with_us(spawn(program, words, {stdio: 'ignore', ...options}));
  child.on('error', (error) => check(false, `${program} starts: ${error.message}`));
  return child;
}

const emit = (type, count = 1) =>
  sql(`SELECT outbox.emit('order', n::text, '${type}', '{}') FROM generate_series(1, ${count}) AS n`);

// A session with a name, which does this and stays in its transaction. Returns what ends that.
function session(name, words) {
  const child = start('psql', ['-qX', `${database}?application_name=${name}`], {stdio: ['pipe', 'ignore', 'ignore']});
  child.stdin.write(`${words}\n`);
  return () => child.stdin.end('COMMIT;\n');
}

let relay = null;
function start_relay() {
  relay = start(outboxd, ['run']);
}

// Five pages of the queue.
const notify = () => sql("SELECT pg_notify('app', n || repeat('x', 7000)) FROM generate_series(1, 5) AS n");

const sql_until = (condition) =>
  sql(`SET statement_timeout = '20s';
    DO $$ BEGIN WHILE NOT (${condition}) LOOP PERFORM pg_sleep(0.05), pg_stat_clear_snapshot(); END LOOP; END $$`);

// Each is planted; then the page says `words`; then it is mended, perhaps by `by_hand` at the page; then all is
// well.
const faults = {
  // Without a relay, for one would make the row anew.
  'a missing row of a shard': {
    plant: () => sql('DELETE FROM outbox.shard'),
    words: 'The table shard of the outbox has 0 rows',
    mend() {
      execFileSync(outboxd, ['migrate'], {stdio: 'ignore'});
      start_relay();
    },
  },
  'no relay at all': {
    plant() {
      relay.kill();
      emit('order.created');
    },
    words: /No relay runs; .* wait/,
    mend: start_relay,
  },
  'a lock holder': {
    plant() {
      this.mend = session('nightly-report', 'BEGIN; LOCK TABLE outbox.event IN SHARE MODE;');
    },
    words: 'application nightly-report',
  },
  'everything is paused': {
    plant: () => sql("SELECT outbox.pause(ARRAY[]::text[], ARRAY[]::text[], true, 'infinity', 'ticket 7')"),
    words: 'ticket 7',
    async by_hand(page) {
      await page.getByRole('button', {name: 'Resume everything'}).click();
      await confirm(page, '1 ended.');
      await close(page);
    },
  },
  'an alarm of the broker': {
    plant() {
      memory_limit('0');
      emit('order.created', 3);
    },
    words: 'The relay cannot publish: publishing blocked by RabbitMQ (low on memory)',
    mend: () => memory_limit(usual_memory),
  },
  'a lost binding': {
    plant() {
      delete_queue();
      emit('order.created', 3);
    },
    words: /3 events wait at .*key order\.created: no queue is bound for that key/,
    mend: bind_queue,
  },
  'a paused type': {
    plant() {
      sql("SELECT outbox.pause(ARRAY['order.paid'], ARRAY[]::text[], false, 'infinity', 'ticket 8')");
      emit('order.paid', 2);
    },
    words: /Event type order\.paid is paused by .*ticket 8/,
    async by_hand(page) {
      await page.getByRole('link', {name: 'Stuck'}).click();
      await page.getByRole('button', {name: 'Resume order.paid'}).click();
      await confirm(page, '1 ended.');
      await close(page);
    },
  },
  'dead events of two reasons': {
    plant: () =>
      sql(`INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, last_error, last_error_code)
        SELECT 'order', n::text, 'order.created', '{}'::jsonb, 'dead'::outbox.event_status, 'dead'::outbox.event_exception, 'NO_ROUTE', 'returned' FROM generate_series(1, 12) AS n
        UNION ALL
        SELECT 'invoice', n::text, 'invoice.sent', '{}', 'dead', 'dead', 'too long', 'unencodable' FROM generate_series(1, 3) AS n`),
    words: '15 events are dead and wait for a decision: no queue is bound for that key (returned); no message can be made of them (unencodable)',
    async by_hand(page) {
      await page.getByRole('link', {name: 'Stuck'}).click();
      await page.getByRole('button', {name: 'Retry events of type order.created'}).click();
      await confirm(page, '12 events wait to be published again.');
      await close(page);
      await page.getByRole('button', {name: 'Discard events of type invoice.sent'}).click();
      await confirm(page, '3 events deleted.');
      await close(page);
    },
  },
  'a relay that hangs': {
    plant() {
      relay.kill('SIGSTOP');
      emit('order.created', 5);
    },
    words: /http:.* does not answer/,
    mend: () => relay.kill('SIGCONT'),
  },
  'a full queue of notifications': {
    left_out: () =>
      Number(sql("SELECT coalesce((SELECT setting::int FROM pg_settings WHERE name = 'max_notify_queue_pages'), 0)")) ===
      64
        ? ''
        : 'PostgreSQL 17 is the first whose queue can be small, and it has to be started so (OUTBOXD_SERVICES_NOTIFY_PAGES=64)',
    plant() {
      const end = session('chat-server', 'LISTEN app; BEGIN; SELECT 1;');
      // PostgreSQL frees a page when somebody notifies beyond it.
      this.mend = () => {
        end();
        sql_until('pg_notification_queue_usage() < 0.5');
        for (let i = 0; i < 4; ++i) notify();
      };
      sql_until("EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'chat-server' AND state = 'idle in transaction')");
      try {
        for (;;) notify();
      } catch {
        // It is full; psql says so, too.
      }
    },
    words: "A relay warns: PostgreSQL's notification queue is",
  },
  // A hundred thousand is the most that is counted: a million is told in the same words.
  'a scheduled crowd': {
    plant: () =>
      sql(`INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, available_at)
        SELECT 'mail', n, 'mail.due', '{}', 'waiting', 'scheduled', now() + interval '1 hour' FROM generate_series(1, 150000) AS n`),
    words: 'more than 100,000 events are scheduled for later',
    mend: () => sql("DELETE FROM outbox.event WHERE event_type = 'mail.due'"),
  },
};

const seconds_since = (begun) => ((Date.now() - begun) / 1000).toFixed(1);

// Once, whatever has gone wrong before.
async function mend(fault) {
  const how = fault.mend;
  fault.mend = undefined;
  await how?.call(fault);
}

async function until_said(page, where, words) {
  try {
    await says(page, where, words);
  } catch {
    throw new Error(`instead of ${words} it says: ${await page.locator('.headline').textContent()}`);
  }
}

async function look_at_cause(page, name, fault) {
  const why = fault.left_out?.() ?? '';
  if (why !== '') return console.log(`--    ${name}: left out: ${why}`);
  await go(page, 'now');
  await fault.plant();
  let begun = Date.now();
  await until_said(page, '.sentence', fault.words);
  const said = seconds_since(begun);
  await page.evaluate(() => {
    window.clicks = 0;
  });
  await fault.by_hand?.(page);
  const clicks = await page.evaluate(() => window.clicks);
  await mend(fault);
  begun = Date.now();
  await go(page, 'now');
  await until_said(page, '.headline.ok', 'All well');
  check(
    true,
    `${name}: said after ${said} s, ${fault.by_hand === undefined ? 'mended outside the page' : `mended with ${clicks} clicks`}, and well ${seconds_since(begun)} s later`,
  );
}

export async function look_at_causes() {
  sql('DELETE FROM outbox.event; DELETE FROM outbox.pause');
  const page = await as_actor();
  await page.evaluate(() => addEventListener('click', (one) => (window.clicks += one.isTrusted ? 1 : 0), true));
  try {
    for (const [name, fault] of Object.entries(faults)) {
      try {
        await look_at_cause(page, name, fault);
      } catch (error) {
        check(false, `${name}: ${error.message.split('\n')[0]}`);
        await mend(fault);
      }
    }
  } finally {
    memory_limit(usual_memory);
    bind_queue();
    relay?.kill('SIGCONT');
    relay?.kill();
  }
  await page.context().close();
}
