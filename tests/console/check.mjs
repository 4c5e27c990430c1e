// check: looks at the console with a browser, as a reader and as an attacker would. Run by tools/check-console.
//
//   node check.mjs BROWSER OUTBOXD OPEN-URL GUARDED-URL READ-TOKEN ACT-TOKEN DATABASE-URL [PICTURES-DIRECTORY]
import {execFile, spawn} from 'node:child_process';
import {createServer} from 'node:http';
import {mkdirSync} from 'node:fs';
import {look_at_actions} from './act.mjs';
import {look_at_causes} from './causes.mjs';
import {look_at_outboxes} from './outboxes.mjs';
import {
  browser,
  check,
  count_of_failures,
  database,
  ends_with_us,
  guarded,
  open,
  outboxd,
  page_at,
  pictures,
  says,
  sql,
  token,
  unguarded,
  without_violations,
} from './page.mjs';

const hostile = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';

function plant() {
  const bidi = '\u202e';
  sql(`INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, last_error, last_error_code, attempts, created_at)
    SELECT 'order', n, 'order.created', '{}', 'dead', 'dead', 'returned by the broker: 312 NO_ROUTE', 'returned', 20, now() - interval '3 hours' FROM generate_series(1, 12) AS n;
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, last_error, last_error_code, attempts)
    SELECT 'invoice', n, 'invoice.sent', '{}', 'dead', 'dead', 'the routing key has 300 bytes; AMQP has 255', 'unencodable', 1 FROM generate_series(1, 3) AS n;
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, last_error, last_error_code)
    VALUES ('${hostile}', 'a${bidi}b', '${hostile}${bidi}', '{}', 'dead', 'dead', '${hostile}', 'refused'),
           ('long', repeat('x', 1000000), 'a.long.name', '{}', 'dead', 'dead', repeat('y', 1000000), 'refused');
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, published_at)
    SELECT 'order', n, 'order.paid', '{}', 'published', now() FROM generate_series(1, 900) AS n`);
}

// A relay, and a shop that takes orders. Returns what ends both.
function start_shop() {
  const relay = ends_with_us(spawn(outboxd, ['run'], {stdio: 'ignore'}));
  const orders = setInterval(
    () =>
      execFile('psql', [
        '-qX',
        database,
        '-c',
        "SELECT outbox.emit('order', n::text, (ARRAY['order.created', 'order.paid', 'order.shipped'])[n % 3 + 1], '{}') FROM generate_series(1, 20 + (random() * 30)::int) AS n",
      ]),
    400,
  );
  return () => {
    clearInterval(orders);
    relay.kill();
  };
}

const views = ['now', 'stuck', 'event', 'audit', 'settings'];

async function look_at_views() {
  // The pictures are of an ordinary day.
  sql("DELETE FROM outbox.event WHERE last_error_code = 'refused'");
  sql("SELECT outbox.emit('parcel', '9', 'parcel.lost', '{}')");
  sql("SELECT outbox.emit('parcel', '9', 'order.paid', '{}') FROM generate_series(1, 3)");
  const end = start_shop();
  try {
    const page = await page_at(`${open}#/now`);
    await says(page, '.sentence', 'The rest goes out');
    await page.waitForTimeout(pictures ? 60_000 : 0); // for the charts
    await page.context().close();
    await look_at_each_view();
  } finally {
    end();
  }
}

async function look_at_each_view() {
  const id = sql("SELECT id FROM outbox.event WHERE event_type = 'order.created' ORDER BY seq LIMIT 1");
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [360, 1440]) {
      const page = await page_at(`${open}#/now`, {viewport: {width, height: 900}, colorScheme, ...unguarded});
      for (const view of [...views, `event/${id}`]) {
        const name = `${view.startsWith('event/') ? 'one-event' : view} ${width} ${colorScheme}`;
        await page.goto(`${open}#/${view}`);
        await page.waitForLoadState('networkidle', {timeout: 5_000}).catch(() => {});
        await says(
          page,
          'main',
          view === 'event'
            ? 'order.created'
            : view.startsWith('event/')
              ? id
              : view === 'now'
                ? 'Seen at'
                : view === 'stuck'
                  ? 'order.created'
                  : view === 'audit'
                    ? 'retry'
                    : '[relay]',
        );
        if (pictures && !view.startsWith('event/'))
          await page.screenshot({
            path: `${pictures}/console-${name.replaceAll(' ', '-')}.png`,
            fullPage: false,
          });
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        check(wide === 0, `${name}: nothing is wider than the screen`);
        await without_violations(page, name);
      }
      await page.context().close();
    }
  }
}

// What would be dead again is not to be retried.
async function look_at_advice() {
  const page = await page_at(`${open}#/stuck`);
  await says(page, 'td', 'invoice.sent');
  const advice = (type) => page.locator('tr', {hasText: type}).first().textContent();
  const created = await advice('order.created');
  check(
    created.includes('Bind a queue') && created.includes('outboxd events retry --error-code returned'),
    'what had no queue is retried once a queue is bound',
  );
  const sent = await advice('invoice.sent');
  check(
    sent.includes('outboxd events edit --id') && sent.includes('--retry') && !sent.includes('events retry'),
    'what cannot be encoded is edited, not retried as it is',
  );
  await page.context().close();
}

async function look_at_hostile_texts() {
  const page = await page_at(`${open}#/stuck`, {}, /TrustedHTML/);
  await says(page, 'td', '<img src=x');
  const found = await page.evaluate(() => ({
    hit: window.hit,
    images: document.querySelectorAll('main img, main script').length,
    text: document.querySelector('main').textContent,
  }));
  check(found.hit === undefined && found.images === 0, 'hostile texts make no element and run nothing');
  check(
    !found.text.includes('\u202e') && found.text.includes('\\u202e'),
    'marks that turn the direction of writing are shown and not obeyed',
  );
  check(found.text.length < 20_000, 'a text of a megabyte is cut');
  const commands = await page.locator('.command code').allTextContents();
  check(
    commands.length === 4 && commands.every((one) => !one.includes('\\u')),
    'no command that is to be copied has what a terminal would obey',
  );
  const refused = await page.evaluate(() => {
    try {
      document.body.innerHTML = '<b>x</b>';
      return false;
    } catch {
      return true;
    }
  });
  check(refused, 'the browser refuses to make HTML of a text');
  const id = sql(
    "SELECT id FROM outbox.event WHERE last_error_code = 'refused' AND aggregate_type <> 'long' LIMIT 1",
  );
  await page.goto(`${open}#/event/${id}`);
  await says(page, 'main', 'onerror');
  check(
    await page.evaluate(() => window.hit === undefined && document.querySelectorAll('main img').length === 0),
    'nor on the page of the event',
  );
  await page.context().close();
}

async function log_in() {
  const first = await page_at(guarded, unguarded, /401/);
  await says(first, 'h1', 'Log in');
  await without_violations(first, 'the login');
  await first.context().close();
  const page = await page_at(guarded, {}, /401/);
  await says(page, 'h1', 'Log in');
  check(!(await page.locator('nav a').count()), 'before a login nothing is shown');
  await page.getByLabel('Token').fill('wrong-wrong-wrong-wrong');
  await page.keyboard.press('Enter');
  await says(page, '.wrong', 'not known');
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await says(page, 'main', 'Seen at');
  const [cookie] = await page.context().cookies();
  check(cookie.httpOnly && cookie.sameSite === 'Strict', 'the cookie is HttpOnly and SameSite=Strict');
  await foreign_page(page.context());
  await page.getByRole('button', {name: 'Log out'}).click();
  await says(page, 'h1', 'Log in');
  check((await page.context().cookies()).length === 0, 'after the log-out there is no cookie');
  await page.context().close();
}

// Another site's page, in the browser of somebody who is logged in.
async function foreign_page(context) {
  const server = createServer((_, answer) =>
    answer.setHeader('Content-Type', 'text/html').end('<!doctype html><title>x</title>'),
  );
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const port = server.address().port;
  const host = new URL(guarded).port;
  // localhost is another site than 127.0.0.1; another port of it is another origin.
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
    const page = await context.newPage();
    await page.goto(origin);
    const heard = await page.evaluate(async (base) => {
      const read = await fetch(`${base}api/now`, {credentials: 'include'}).then(
        () => true,
        () => false,
      );
      const wrote = await fetch(`${base}api/logout`, {
        method: 'POST',
        credentials: 'include',
        body: '{}',
        mode: 'no-cors',
      }).then(
        () => 'sent',
        () => 'not sent',
      );
      const json = await fetch(`${base}api/logout`, {
        method: 'POST',
        credentials: 'include',
        headers: {'Content-Type': 'application/json'},
        body: '{}',
      }).then(
        () => true,
        () => false,
      );
      const frame = document.createElement('iframe');
      frame.src = base;
      document.body.append(frame);
      await new Promise((loaded) => {
        frame.onload = loaded;
        setTimeout(loaded, 2000);
      });
      let framed = true;
      try {
        framed = frame.contentDocument !== null && frame.contentDocument.querySelector('main') !== null;
      } catch {
        framed = false;
      }
      return {read, wrote, json, framed, frames: window.frames.length};
    }, `http://127.0.0.1:${host}/`);
    check(
      !heard.read && !heard.json && !heard.framed,
      `${origin} reads nothing, posts nothing and frames nothing`,
    );
    const inside = page.frames().filter((one) => one.url().startsWith(guarded));
    check(
      inside.length === 0 || (await inside[0].locator('main').count()) === 0,
      'the browser shows no console in a frame',
    );
    await page.close();
  }
  const page = await context.newPage();
  await page.goto(`${guarded}#/now`);
  await says(page, 'main', 'Seen at');
  check(true, 'and the reader is still logged in');
  await page.close();
  server.close();
}

async function use_keyboard() {
  const page = await page_at(`${open}#/now`);
  await says(page, 'main', 'Seen at');
  await page.keyboard.press('Tab');
  check(
    (await page.evaluate(() => document.activeElement.textContent)) === 'Skip to the content',
    'the first stop of Tab skips to the content',
  );
  for (let i = 0; i < 2; ++i) await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const name = await page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press('Enter');
  await says(page, 'h1', name);
  check(
    (await page.evaluate(() => document.activeElement.tagName)) === 'H1',
    'a page that is opened by keyboard has the focus',
  );
  await page.context().close();
}

async function hide() {
  const page = await page_at(`${open}#/now`);
  await says(page, 'main', 'Seen at');
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', {get: () => window.is_hidden ?? false, configurable: true});
    window.is_hidden = true;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  let asked = 0;
  page.on('request', () => {
    asked += 1;
  });
  await page.waitForTimeout(5_000); // two and a half turns: that nothing happens has to take its time
  check(asked <= 1, 'a hidden tab asks for nothing');
  const next = page.waitForRequest(/api\/now/);
  await page.evaluate(() => {
    window.is_hidden = false;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await next;
  check(true, 'and goes on at once when it is seen again');
  await page.context().close();
}

async function without_scripts() {
  const page = await page_at(open, {javaScriptEnabled: false});
  check((await page.textContent('main')).includes('needs JavaScript'), 'without JavaScript the page says so');
  await page.context().close();
}

if (pictures) mkdirSync(pictures, {recursive: true});
plant();
const parts = {
  look_at_advice,
  look_at_hostile_texts,
  look_at_views,
  look_at_causes,
  look_at_actions,
  look_at_outboxes,
  log_in,
  use_keyboard,
  hide,
  without_scripts,
};
const only = process.env.CHECK_ONLY;
for (const [name, part] of Object.entries(parts)) {
  const words = name.replaceAll('_', ' ');
  if (only !== undefined && only !== words) continue;
  console.log(`${words}:`);
  const begun = Date.now();
  try {
    await part();
  } catch (error) {
    check(false, `${name}: ${error.message.split('\n')[0]}`);
  }
  console.log(`      in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
}
await browser.close();
const failures = count_of_failures();
console.log(failures === 0 ? 'All of it is as it should be.' : `${failures} things are wrong.`);
process.exit(failures === 0 ? 0 : 1);
