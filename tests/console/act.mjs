// act: what somebody who may act does with the console, by the buttons of its pages. For check.mjs.
import {act_token, check, guarded, page_at, pictures, says, sql, token, unguarded, without_violations} from './page.mjs';

// Nothing of the earlier parts is left. No relay runs: what is requeued stays where it can be counted.
function plant() {
  sql(`DELETE FROM outbox.event; DELETE FROM outbox.pause;
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers, status, exception, last_error, last_error_code, attempts)
    SELECT 'order', n, 'order.created', '{"note": "<img src=x onerror=window.hit=1>"}', '{"trace": "t-1"}', 'dead', 'dead', 'NO_ROUTE', 'returned', 20 FROM generate_series(1, 12) AS n;
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, last_error, last_error_code)
    SELECT 'invoice', n, 'invoice.sent', '{}', 'dead', 'dead', 'too long', 'unencodable' FROM generate_series(1, 5) AS n;
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, published_at)
    SELECT 'order', n, 'order.paid', '{}', 'published', now() FROM generate_series(1, 3000) AS n;
    INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, available_at)
    SELECT 'mail', n, 'mail.due', '{}', 'waiting', 'scheduled', now() + interval '1 hour' FROM generate_series(1, 4) AS n`);
}

const number = (query) => Number(sql(query));
let audited_before = 0;
const audited = (what) =>
  number(`SELECT count(*) FROM outbox.audit WHERE what = '${what}' AND reason = 'ticket 12' AND id > ${audited_before}`);

export async function as_actor(options = {}) {
  const page = await page_at(guarded, options, /40[01]/);
  await page.getByLabel('Token').fill(act_token);
  await page.keyboard.press('Enter');
  await says(page, 'main', 'Seen at');
  return page;
}

export async function go(page, hash) {
  await page.goto(`${guarded}#/${hash}`);
}

const dialog = (page) => page.getByRole('dialog');
const says_in = (page, words) => dialog(page).getByText(words).first().waitFor();

// From the preview on: the reason, by keyboard, and what came of it.
export async function confirm(page, words) {
  await dialog(page).getByLabel('Why').fill('ticket 12');
  await page.keyboard.press('Enter');
  await says_in(page, words);
}

export async function close(page) {
  await dialog(page).getByRole('button', {name: 'Close'}).click();
  await dialog(page).waitFor({state: 'detached'});
}

async function close_by_escape(page) {
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({state: 'detached'});
}

async function take_picture(page, name) {
  if (pictures) await page.screenshot({path: `${pictures}/console-${name}.png`});
}

async function retry_a_group(page) {
  await go(page, 'stuck');
  const button = page.getByRole('button', {name: 'Retry events of type order.created'});
  await button.focus();
  await page.keyboard.press('Enter');
  await says_in(page, '12 events that are dead.');
  await without_violations(page, 'the preview');
  await take_picture(page, 'act-1440-light');
  check(
    (await dialog(page).locator('code').first().isVisible()) &&
      (await dialog(page).textContent()).includes('outboxd events retry --event-type order.created --error-code returned'),
    'the preview shows the command line',
  );
  await close_by_escape(page);
  check(await button.evaluate((one) => one === document.activeElement), 'Escape leaves all as it is, and the focus returns');
  await button.click();
  await says_in(page, '12 events that are dead.');
  await dialog(page).getByRole('button', {name: 'Retry 12 events'}).click();
  check(await dialog(page).getByLabel('Why').evaluate((one) => !one.validity.valid), 'nothing is done without a reason');
  // One of them goes another way meanwhile, by somebody else.
  sql("SELECT outbox.dead_discard(ARRAY(SELECT id FROM outbox.event WHERE last_error_code = 'returned' ORDER BY seq LIMIT 1))");
  await dialog(page).getByLabel('Why').fill('ticket 12');
  await dialog(page).getByRole('button', {name: 'Retry 12 events'}).dblclick();
  await says_in(page, '11 events wait to be published again. 1 event was left alone: changed since the preview (now 1 gone).');
  await says_in(page, 'Meanwhile: discard, 1 event');
  await without_violations(page, 'the result');
  check(audited('retry') === 1, 'a double click is one retry');
  await close(page);
  check(number("SELECT count(*) FROM outbox.event WHERE last_error_code = 'returned' AND status = 'waiting'") === 11, 'a group is retried');
}

async function discard_what_is_ticked(page) {
  await go(page, 'event/search?status=dead');
  const boxes = page.getByRole('checkbox', {name: 'Tick event'});
  await boxes.first().waitFor();
  check((await boxes.count()) === 5, 'each event can be ticked');
  for (const at of [0, 1]) {
    await boxes.nth(at).focus();
    await page.keyboard.press('Space');
  }
  const ticked = page.getByRole('group', {name: 'Ticked events'});
  await ticked.getByText('2 events ticked').waitFor();
  await without_violations(page, 'events with ticks');
  await ticked.getByRole('button', {name: 'Discard'}).click();
  await says_in(page, '2 events that are dead.');
  await confirm(page, '2 events deleted.');
  await close(page);
  check(number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") === 3, 'what is ticked is discarded, and nothing else');
}

async function replay_all_that_match(page) {
  await go(page, 'event/search?status=published&type=order.paid');
  await page.getByRole('group', {name: 'All that match'}).getByRole('button', {name: 'Replay'}).click();
  await dialog(page).getByLabel('With this routing key').fill('order.again');
  await dialog(page).getByLabel('Most events in a second').fill('none');
  await without_violations(page, 'the fields of a replay');
  await dialog(page).getByRole('button', {name: 'Preview'}).click();
  await says_in(page, 'rate is 1 to');
  await dialog(page).getByLabel('Most events in a second').fill('400');
  await dialog(page).getByRole('button', {name: 'Preview'}).click();
  await says_in(page, '3,000 events that are published.');
  await confirm(page, 'of 3,000 events are done.');
  await dialog(page).getByText(/^[1-9][0-9]* of 3,000 events are done/).waitFor();
  await without_violations(page, 'the progress');
  await dialog(page).getByRole('button', {name: 'Stop'}).click();
  await says_in(page, 'It was stopped after');
  const done = number("SELECT count(*) FROM outbox.event WHERE replay_routing_key = 'order.again'");
  check(done > 0 && done < 3000, `a replay is stopped in the middle, after ${done}`);
  await dialog(page).getByRole('button', {name: 'Go on with'}).click();
  await says_in(page, 'which are left');
  await page.keyboard.press('Escape');
  await go(page, 'audit');
  await says(page, 'td', '--to-routing-key order.again');
  check(number("SELECT events FROM outbox.audit WHERE what = 'replay'") === done, 'the audit has as many');
}

async function put_off_one_event(page) {
  const id = sql("SELECT id FROM outbox.event WHERE event_type = 'mail.due' ORDER BY seq LIMIT 1");
  await go(page, `event/${id}`);
  await page.getByRole('button', {name: `Postpone event ${id}`}).click();
  await dialog(page).getByLabel('Not before').fill('3h');
  await page.keyboard.press('Enter');
  await says_in(page, '1 event that is pending or waiting.');
  await confirm(page, '1 event postponed.');
  await close(page);
  check(number("SELECT count(*) FROM outbox.event WHERE available_at > now() + interval '2 h'") === 1, 'one event is postponed');
  await page.getByRole('button', {name: `Cancel event ${id}`}).click();
  await says_in(page, '1 event that is pending or waiting.');
  await confirm(page, '1 event cancelled.');
  await close(page);
  check(sql(`SELECT last_error_code FROM outbox.event WHERE id = '${id}'`) === 'cancelled', 'and cancelled');
}

// In the dialog of one event its fields have what it has; only what is changed is written.
async function edit_a_dead_event(page) {
  const id = sql("SELECT id FROM outbox.event WHERE last_error_code = 'unencodable' ORDER BY seq LIMIT 1");
  sql(`UPDATE outbox.event SET routing_key = 'mistyped', payload = '{"note": "as it was"}' WHERE id = '${id}'`);
  await go(page, `event/${id}`);
  await page.getByRole('button', {name: `Edit and requeue event ${id}`}).click();
  const field = (name) => dialog(page).getByLabel(name, {exact: true});
  await page.waitForFunction(() => document.getElementById('edit-payload').value.includes('as it was'));
  check((await field('Routing key').inputValue()) === 'mistyped', 'an edit begins with what the event has');
  await without_violations(page, 'the fields of an edit');
  await field('Payload').fill('no JSON {');
  await dialog(page).getByRole('button', {name: 'Preview'}).click();
  await says_in(page, 'payload: ');
  await field('Payload').fill('{"note": "mended"}');
  await field('Routing key').fill('order.mended');
  await dialog(page).getByRole('button', {name: 'Preview'}).click();
  await says_in(page, '1 event that is dead.');
  check(
    (await dialog(page).textContent()).includes(`--id ${id} --set-payload payload --set-routing-key order.mended --retry`),
    'and writes only what was changed',
  );
  await confirm(page, '1 event edited and requeued.');
  await close(page);
  check(
    sql(`SELECT status || routing_key || (payload ->> 'note') FROM outbox.event WHERE id = '${id}'`) ===
      'waitingorder.mendedmended',
    'a dead event is edited and requeued',
  );
  check(audited('edit') === 1, 'which is audited');
}

async function show_a_payload(page) {
  const id = sql("SELECT id FROM outbox.event WHERE event_type = 'order.created' ORDER BY seq LIMIT 1");
  await go(page, `event/${id}`);
  await says(page, 'dd', 'trace');
  check(!(await page.textContent('main')).includes('onerror'), 'a payload is not shown unasked');
  await page.getByRole('button', {name: 'Show the payload'}).click();
  await says(page, 'pre', 'onerror');
  check(
    await page.evaluate(() => window.hit === undefined && document.querySelectorAll('main img').length === 0),
    'a payload is text',
  );
  await without_violations(page, 'the payload');
}

async function pause_and_resume(page) {
  await go(page, 'now');
  await page.getByRole('button', {name: 'Pause everything'}).click();
  await dialog(page).getByLabel('Until').fill('2h');
  await page.keyboard.press('Enter');
  await says_in(page, 'It holds back ');
  await confirm(page, 'Paused.');
  await close(page);
  await says(page, '.sentence', 'ticket 12');
  check(audited('pause') === 1, 'everything is paused');
  await page.getByRole('button', {name: 'Resume everything'}).click();
  await says_in(page, '1 pause ends.');
  await confirm(page, '1 ended.');
  await close(page);
  await go(page, 'stuck');
  await page.getByRole('button', {name: 'Pause something'}).click();
  await dialog(page).getByLabel('Its name').fill('mail.due');
  await page.keyboard.press('Enter');
  await confirm(page, 'Paused.');
  await close(page);
  await page.getByRole('button', {name: 'Resume mail.due'}).click();
  await confirm(page, '1 ended.');
  await close(page);
  check(number('SELECT count(*) FROM outbox.pause') === 0, 'a type is paused and resumed');
}

// What the page shows can be put into its own fields; the browser itself is not in UTC.
async function find_by_what_is_shown(page) {
  await go(page, 'stuck');
  await page.getByRole('link', {name: 'events of type invoice.sent'}).click();
  const rows = page.locator('main tbody tr');
  await rows.first().waitFor();
  const dead = number("SELECT count(*) FROM outbox.event WHERE status = 'dead' AND last_error_code = 'unencodable'");
  check((await rows.count()) === dead, 'the count of a reason leads to the list of its events');
  const all = page.getByRole('group', {name: 'All that match'});
  await all.getByRole('button', {name: 'Retry'}).click();
  await says_in(page, `${dead} events that are dead.`);
  check(
    (await dialog(page).textContent()).includes('--event-type invoice.sent --error-code unencodable'),
    'and what is done with all that match is done with them alone',
  );
  await close_by_escape(page);
  sql(`INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, created_at)
    SELECT 'old', n, 'old.one', '{}', 'dead', 'dead', '2026-01-31 23:30:00.5Z'::timestamptz + n * interval '1 s' FROM generate_series(1, 3) AS n`);
  await go(page, 'event/search?status=dead&type=old.one');
  await says(page, 'td', '2026-01-31 23:30:02');
  const shown = await rows.nth(1).locator('time').textContent();
  for (const [label, field, expected] of [
    ['from', 'Since', ['2026-01-31 23:30:03', '2026-01-31 23:30:02']],
    ['to', 'Before', ['2026-01-31 23:30:01']],
  ]) {
    await go(page, 'event/search?status=dead&type=old.one');
    await says(page, 'td', '2026-01-31 23:30:01');
    await page.getByLabel(field, {exact: true}).fill(shown);
    const answer = page.waitForResponse(/api\/events\?.*23%3A30/);
    await page.keyboard.press('Enter');
    await answer;
    await rows.first().waitFor();
    check(
      JSON.stringify(await rows.locator('time').allTextContents()) === JSON.stringify(expected),
      `events ${label} a time that was copied from the table are found`,
    );
  }
  check((await page.locator('footer').textContent()).includes('UTC'), 'the page says which time zone it shows');
}

async function only_look() {
  const page = await page_at(guarded, {}, /401/);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await says(page, 'main', 'Seen at');
  await go(page, 'stuck');
  await says(page, 'td', 'invoice.sent');
  check((await page.locator('main .actions button').count()) === 0, 'who may only look sees no buttons to act');
  await page.context().close();
}

export async function look_at_actions() {
  plant();
  audited_before = number('SELECT max(id) FROM outbox.audit');
  const page = await as_actor({viewport: {width: 1440, height: 900}, ...unguarded});
  await retry_a_group(page);
  await discard_what_is_ticked(page);
  await replay_all_that_match(page);
  await put_off_one_event(page);
  await show_a_payload(page);
  await edit_a_dead_event(page);
  await pause_and_resume(page);
  await find_by_what_is_shown(page);
  await page.context().close();
  const narrow = await as_actor({viewport: {width: 360, height: 740}, colorScheme: 'dark', ...unguarded});
  await go(narrow, 'stuck');
  await narrow.getByRole('button', {name: 'Discard events of type invoice.sent'}).click();
  await says_in(narrow, '2 events that are dead.');
  const wide = await narrow.evaluate(() => {
    const inside = document.querySelector('dialog').clientWidth;
    const all = [...document.querySelectorAll('dialog *:not(.unseen)')];
    return all
      .filter((one) => one.offsetWidth > inside && one.closest('.scroll') === null)
      .map((one) => `${one.tagName}.${one.className} ${one.offsetWidth} of ${inside}`);
  });
  check(wide.length === 0, `a dialog fits a telephone ${wide.join(', ')}`);
  await without_violations(narrow, 'a dialog, narrow and dark');
  await take_picture(narrow, 'act-360-dark');
  await narrow.context().close();
  await only_look();
}
