// page_stuck: the stuck events, the reasons, and the commands that help.

import {button} from './act.js';
import {advice, is_at_fault} from './advice.js';
import {command, el, fill, shown, table, visible} from './dom.js';
import {search_for} from './page_event.js';
import {get} from './server.js';
import {age, events, number, shell_word, since, time} from './words.js';

export const title = 'Stuck';
export const every = () => 5000;
export const path = () => 'stuck';

function destination(row) {
  const where =
    row.exchange === null
      ? 'by its route'
      : row.exchange === ''
        ? 'default exchange'
        : shown(row.exchange, 80);
  return [where, el('br'), el('span', {class: 'note'}, `key ${shown(row.routing_key, 80)}`)];
}

// True if a name can be part of a command. A truncated name is a different name, and a terminal would
// interpret control characters.
function may_be_typed(name) {
  return name.length < 300 && visible(name) === name;
}

// If the type cannot be typed, selects only the example event, because the reason alone would also select
// other events.
function selectors_of(row) {
  return may_be_typed(row.event_type)
    ? {code: [row.code ?? 'none'], event_type: [row.event_type]}
    : {id: [row.example.id]};
}

// The number of events, linked to their list. If the type was truncated, the link searches by the reason
// alone.
function count_of(row) {
  const type = row.event_type.length < 300 ? row.event_type : '';
  const href = search_for({status: row.state === 'dead' ? 'dead' : 'waiting', type, code: row.code ?? 'none'});
  const about = `List ${events(row.events)} of type ${shown(row.event_type, 60)}`;
  return el('a', {href, 'aria-label': about}, number(row.events));
}

function remedy(row) {
  const about = `events of type ${shown(row.event_type, 60)} with the reason ${row.code ?? 'none'}`;
  const can = (what) => button(what, selectors_of(row), about);
  if (row.state === 'dead') {
    const which = may_be_typed(row.event_type)
      ? `--error-code ${row.code ?? 'none'} --event-type ${shell_word(row.event_type)}`
      : `--id ${row.example.id}`;
    return [
      advice(row.code, which, row.example.id),
      el('span', {class: 'actions'}, is_at_fault(row.code) ? null : can('retry'), can('edit_dead'), can('discard')),
    ];
  }
  const end = row.waits_for_destination ? 'dead, if that lasts until ' : 'tried again ';
  return [
    row.next ? [end, time(row.next)] : row.waits_for_destination ? 'waits without an end' : 'is tried again',
    el('span', {class: 'actions'}, can('postpone'), can('edit'), can('cancel')),
  ];
}

function show_failures(place, data) {
  if (data.failures === undefined) return fill(place);
  if (data.failures.length === 0)
    return fill(place, el('p', {class: 'empty'}, 'Nothing is dead, and nothing backs off.'));
  return fill(
    place,
    table(
      'Failures by reason',
      [
        {title: 'Events', number: true, cell: count_of},
        {title: 'State', cell: (row) => (row.state === 'dead' ? 'dead' : 'backs off')},
        {
          title: 'Reason',
          cell: (row) => [
            el('code', {}, shown(row.code ?? 'none', 60)),
            el('br'),
            el('span', {class: 'note'}, shown(row.example?.last_error ?? '', 200)),
          ],
        },
        {title: 'Event type', cell: (row) => shown(row.event_type, 80)},
        {title: 'Destination', cell: destination},
        {title: 'Oldest', cell: (row) => since(row.oldest)},
        {title: 'Failing', cell: (row) => (row.failing_since ? since(row.failing_since) : '')},
        {
          title: 'An example',
          cell: (row) => el('a', {href: `#/event/${row.example.id}`}, `${row.example.id.slice(0, 8)}…`),
        },
        {title: 'What to do', cell: remedy},
      ],
      data.failures,
    ),
    data.failures_more
      ? el('p', {class: 'note'}, 'There are more events than are counted here: the counts are of the oldest.')
      : null,
  );
}

function behind(row) {
  if (row.behind === null) return 'an earlier event of it';
  const state =
    row.behind.state === 'dead' ? 'which is dead' : ['tried again ', time(row.behind.available_at)];
  return [
    el('a', {href: `#/event/${row.behind.id}`}, `${row.behind.id.slice(0, 8)}…`),
    ', ',
    state,
    ': ',
    el('code', {}, shown(row.behind.code ?? 'none', 60)),
  ];
}

function show_held(place, data) {
  if (data.held === undefined) return fill(place);
  if (data.held.length === 0) return fill(place, el('p', {class: 'empty'}, 'No aggregate is blocked.'));
  return fill(
    place,
    table(
      'Blocked aggregates',
      [
        {title: 'Aggregate', cell: (row) => shown(`${row.aggregate_type}/${row.aggregate_id}`, 100)},
        {title: 'Blocked events', number: true, cell: (row) => number(row.events)},
        {title: 'Oldest', cell: (row) => since(row.oldest)},
        {title: 'Waits for', cell: behind},
      ],
      data.held,
    ),
    data.held_more ? el('p', {class: 'note'}, 'There are more than these 20.') : null,
  );
}

function resume(row) {
  if (row.part === 'everything')
    return [command('outboxd resume --all'), ' ', button('resume', {all: true}, 'everything')];
  if (!may_be_typed(row.name)) return 'outboxd resume, with its name';
  return [
    command(`outboxd resume --${row.part.replace('_', '-')} ${shell_word(row.name)}`),
    ' ',
    button('resume', {[row.part]: [row.name]}, row.name),
  ];
}

function show_paused(place, data) {
  if (data.paused === undefined) return fill(place);
  const more = el('p', {class: 'actions'}, button('pause', {}, 'something'));
  if (data.paused.length === 0) return fill(place, el('p', {class: 'empty'}, 'Nothing is paused.'), more);
  const part = (row) =>
    row.part === 'everything'
      ? 'everything'
      : `${row.part.replace('_', ' ')} ${row.name === '' ? "''" : shown(row.name, 100)}`;
  return fill(
    place,
    table(
      'Paused',
      [
        {title: 'What', cell: part},
        {title: 'Since', cell: (row) => since(row.since)},
        {title: 'Until', cell: (row) => (row.until ? time(row.until) : 'somebody resumes it')},
        {title: 'By', cell: (row) => shown(row.who ?? 'not known', 100)},
        {title: 'Why', cell: (row) => shown(row.reason ?? 'no reason was given', 200)},
        {title: 'What to do', cell: resume},
      ],
      data.paused,
    ),
    more,
  );
}

function show_lock_holders(place, data) {
  if (data.culprits === undefined) return fill(place);
  if (data.culprits.length === 0)
    return fill(place, el('p', {class: 'empty'}, 'No session holds a lock that relays need.'));
  return fill(
    place,
    table(
      'Sessions in the way',
      [
        {title: 'Pid', number: true, cell: (row) => String(row.pid ?? '?')},
        {title: 'User', cell: (row) => shown(row.user ?? 'not known', 80)},
        {title: 'Application', cell: (row) => shown(row.application ?? 'not known', 80)},
        {
          title: 'Holds',
          cell: (row) => (row.behind === null ? row.mode : `${row.mode}, waits behind pid ${row.behind}`),
        },
        {
          title: 'Keeps relays from',
          cell: (row) => row.keeps_from + (row.shard === null ? '' : ` shard ${row.shard}`),
        },
        {title: 'Waits for', cell: (row) => shown(row.waits_for ?? '–', 80)},
      ],
      data.culprits,
    ),
  );
}

function show_snapshot(place, data) {
  const oldest = data.oldest_snapshot;
  if (oldest === undefined) return fill(place);
  if (oldest === null)
    return fill(place, el('p', {class: 'empty'}, 'No session holds vacuum back.'));
  return fill(
    place,
    el(
      'p',
      {},
      `The oldest snapshot is that of a ${oldest.kind}: ${shown(oldest.name ?? '', 100)}`,
      oldest.pid === null ? '' : ` (pid ${oldest.pid})`,
      `, ${oldest.age_seconds === null ? '' : `${age(oldest.age_seconds)} and `}`,
      `${number(oldest.transactions)} transactions old. Vacuum removes nothing younger.`,
    ),
  );
}

function show_checks(place, findings) {
  if (findings.length === 0)
    return fill(
      place,
      el('p', {class: 'empty'}, 'No problem found. outboxd check also checks what only a relay can see.'),
    );
  return fill(
    place,
    table(
      'What outboxd check finds',
      [
        {title: 'Check', cell: (row) => [row.verdict === 'failure' ? 'Problem: ' : 'Warning: ', el('code', {}, row.name)]},
        {title: 'Finding', cell: (row) => shown(row.words, 500)},
        {title: 'What to do', cell: (row) => el('code', {}, shown(row.remedy, 500))},
      ],
      findings,
    ),
  );
}

const check_every = 60_000; // milliseconds; the server queries PostgreSQL as rarely, for all users together

export function make(main) {
  const parts = [
    ['Failures', show_failures],
    ['Blocked aggregates', show_held],
    ['Paused', show_paused],
    ['Sessions in the way', show_lock_holders],
    ['Oldest snapshot', show_snapshot],
  ].map(([name, show]) => ({name, show, place: el('div'), before: ''}));
  const unread = el('ul', {class: 'wrong'});
  const total = el('p', {class: 'note'}, 'Loading …');
  const checks = el('div', {}, el('p', {class: 'note'}, 'Loading …'));
  main.append(
    total,
    unread,
    ...parts.flatMap((one) => [el('h2', {}, one.name), one.place]),
    el('h2', {}, 'Warnings of check'),
    checks,
  );
  let check_next = 0;
  async function look_at_checks() {
    if (Date.now() < check_next) return;
    check_next = Date.now() + check_every;
    try {
      show_checks(checks, (await get('checks')).findings);
    } catch (error) {
      fill(checks, el('p', {class: 'wrong'}, shown(error.message, 500)));
    }
  }
  return (data) => {
    fill(
      unread,
      (data.errors ?? []).map((one) => el('li', {}, shown(one, 500))),
    );
    look_at_checks();
    const dead = (data.failures ?? [])
      .filter((one) => one.state === 'dead')
      .reduce((sum, one) => sum + one.events, 0);
    const later = (data.failures ?? [])
      .filter((one) => one.state !== 'dead')
      .reduce((sum, one) => sum + one.events, 0);
    fill(
      total,
      `${events(dead)} dead, ${events(later)} backing off. Nothing is lost: what backs off is tried again, and what is dead waits for you.`,
    );
    // Replaces a table only if it has changed, so that focus and selection stay.
    const now = JSON.stringify(data);
    for (const one of parts) {
      if (one.before === now || one.place.contains(document.activeElement)) continue;
      one.show(one.place, data);
      one.before = now;
    }
  };
}
