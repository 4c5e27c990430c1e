// page_event: the state of one event, and the search for events.

import {button} from './act.js';
import {advice, is_at_fault} from './advice.js';
import {command, el, fill, shown, table} from './dom.js';
import {choice, field, form} from './form.js';
import {payload_of} from './payload.js';
import {choose, doable} from './selection.js';
import {age, since, time} from './words.js';

export const title = 'Events';
// A search runs only once, because it costs more than a query for one event.
export const every = (about) => (uuid.test(about) ? 5000 : 0);

const uuid = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

// about: empty, an id, or a search such as search?status=dead&type=…
export function path(about) {
  if (about === '') return 'events?';
  return about.startsWith('search?')
    ? `events?${about.slice('search?'.length)}`
    : `event?id=${encodeURIComponent(about)}`;
}

export function search_for(wanted) {
  return `#/event/search?${new URLSearchParams(Object.entries(wanted).filter(([, value]) => value))}`;
}

function by_id(about) {
  const wrong = el('p', {class: 'wrong', role: 'alert', id: 'wrong-id'});
  const id = field('event-id', 'Id of an event', {
    size: '40',
    'aria-describedby': 'wrong-id',
    value: uuid.test(about) ? about : '',
  });
  return form(
    {class: 'search', 'aria-label': 'One event'},
    () => {
      const wanted = id.input.value.trim();
      if (uuid.test(wanted)) location.hash = `#/event/${wanted.toLowerCase()}`;
      else fill(wrong, 'An id looks like 6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f; it is the message_id.');
    },
    id.element,
    el('button', {type: 'submit'}, 'Look for it'),
    wrong,
  );
}

// The parameters of the search in `about`.
function given_in(about) {
  return Object.fromEntries(
    new URLSearchParams(about.startsWith('search?') ? about.slice('search?'.length) : ''),
  );
}

function by_words(about) {
  const given = given_in(about);
  const text = (name, label, placeholder) =>
    field(`by-${name}`, label, {placeholder, value: given[name] ?? ''});
  const parts = {
    status: choice(
      'by-status',
      'Status',
      [['', 'any'], ...['pending', 'waiting', 'published', 'dead'].map((one) => [one, one])],
      given.status,
    ),
    type: text('type', 'Event type', 'order.created'),
    aggregate: text('aggregate', 'Aggregate', 'order/42'),
    code: text('code', 'Reason', 'returned'),
    since: text('since', 'Since', '2h, or a time'),
    until: text('until', 'Before', '2026-01-31 14:00'),
  };
  return form(
    {class: 'search', role: 'search', 'aria-label': 'Events'},
    () => {
      const wanted = Object.entries(parts).map(([name, part]) => [name, part.input.value.trim()]);
      const hash = search_for(Object.fromEntries(wanted));
      if (hash === location.hash) dispatchEvent(new Event('hashchange'));
      else location.hash = hash;
    },
    Object.values(parts).map((part) => part.element),
    el('button', {type: 'submit'}, 'Search'),
    el('p', {class: 'note'}, 'Since and Before go by the time in the table: of creation, or of publishing if the status is published.'),
  );
}

function show_found(place, data, about) {
  const given = given_in(about);
  const last = data.found.length === 100 ? data.found[99].seq : data.looked_to;
  const older =
    last === null || last === undefined
      ? null
      : el(
          'p',
          {},
          el(
            'a',
            {href: search_for({...given, before: String(last)})},
            data.found.length === 100 ? 'Older ones' : 'Look further back',
          ),
        );
  if (data.found.length === 0) {
    const where =
      data.looked_to === null
        ? 'There is no such event.'
        : 'There is no such event among the 100,000 that were searched.';
    return fill(place, el('p', {class: 'empty'}, where), older);
  }
  const chosen = choose(data.found, given);
  const when =
    given.status === 'published'
      ? {title: 'Published', cell: (row) => time(row.published_at)}
      : {title: 'Created', cell: (row) => time(row.created_at)};
  return fill(
    place,
    chosen.all,
    table(
      'Events',
      [
        ...chosen.columns,
        when,
        {title: 'Status', cell: (row) => el('span', {class: `state ${row.status}`}, row.status)},
        {title: 'Event type', cell: (row) => shown(row.event_type, 80)},
        {title: 'Aggregate', cell: (row) => shown(`${row.aggregate_type}/${row.aggregate_id}`, 80)},
        {title: 'Attempts', number: true, cell: (row) => String(row.attempts)},
        {title: 'Reason', cell: (row) => (row.code ? el('code', {}, shown(row.code, 60)) : '–')},
        {title: 'Event', cell: (row) => el('a', {href: `#/event/${row.id}`}, `${row.id.slice(0, 8)}…`)},
      ],
      data.found,
    ),
    chosen.ticked,
    older,
  );
}

function step(words, at, more = null) {
  return el(
    'li',
    {},
    el('strong', {}, words),
    ' ',
    at,
    more === null ? null : el('div', {class: 'note'}, more),
  );
}

function timeline(event) {
  const out = [step('Created', time(event.created_at), since(event.created_at))];
  if (event.attempts > 0) {
    out.push(
      step(`${event.attempts} failed ${event.attempts === 1 ? 'attempt' : 'attempts'}`, '', [
        el('code', {}, shown(event.last_error_code ?? 'none', 60)),
        ' ',
        shown(event.last_error ?? '', 1000),
      ]),
    );
  } else if (event.last_error) {
    const words = event.first_failed_at ? 'Failing since' : 'Put off, which is no failed attempt';
    const at = event.first_failed_at ? time(event.first_failed_at) : '';
    out.push(step(words, at, shown(event.last_error, 1000)));
  }
  if (event.status === 'published') out.push(step('Published', time(event.published_at)));
  else if (event.status === 'dead') out.push(step('Dead', ''));
  else if (event.waits_for && !event.due) out.push(step('Dead, if that lasts until', time(event.available_at)));
  else out.push(step(event.due ? 'Due' : 'Due again', time(event.available_at)));
  return el('ol', {class: 'timeline'}, out);
}

function header_names(event) {
  if (!event.header_names) return null;
  return event.header_names.length === 0
    ? 'none of its own'
    : event.header_names.map((one) => shown(one, 100)).join(', ');
}

function facts(event) {
  const rows = [
    [
      'Aggregate',
      event.aggregate_type === null
        ? null
        : `${shown(event.aggregate_type, 100)}/${shown(event.aggregate_id, 100)}`,
    ],
    ['Event type', event.event_type === null ? null : shown(event.event_type)],
    ['Exchange', event.exchange === null ? 'by its route' : shown(event.exchange)],
    ['Routing key', event.routing_key === null ? 'by its route' : shown(event.routing_key)],
    [
      'Replayed to',
      event.replay_exchange === null || event.replay_exchange === undefined
        ? null
        : shown(event.replay_exchange),
    ],
    ['Header names', header_names(event)],
    ['Status', event.status],
    ['Seq', String(event.seq)],
    ['Shard', event.shard === undefined ? null : String(event.shard)],
    ['Age', event.age_seconds === undefined || event.age_seconds === null ? null : age(event.age_seconds)],
  ];
  return el(
    'dl',
    {class: 'facts'},
    rows
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  );
}

function remedy(event) {
  if (event.state === 'dead') return advice(event.last_error_code, `--id ${event.id}`, event.id);
  if (event.state === 'published') return command(`outboxd events replay --id ${event.id}`);
  return command(`outboxd trace --id ${event.id}`);
}

function one_event(event) {
  return el(
    'section',
    {class: 'card', 'aria-label': `Event ${event.id}`},
    el('h2', {}, el('code', {}, event.id)),
    el(
      'p',
      {class: 'sentence'},
      el('span', {class: `state ${event.status}`}, event.state),
      ' ',
      shown(event.why, 1000),
    ),
    event.behind === null || event.behind === undefined
      ? null
      : el('p', {}, 'It waits behind ', el('a', {href: `#/event/${event.behind.id}`}, event.behind.id), '.'),
    timeline(event),
    facts(event),
    payload_of(event),
    el('div', {}, remedy(event)),
    el(
      'p',
      {class: 'actions'},
      doable(event.status)
        .filter((what) => what !== 'retry' || !is_at_fault(event.last_error_code))
        .map((what) => button(what, {id: [event.id]}, `event ${event.id}`)),
    ),
    event.aggregate_type === null || event.aggregate_type.includes('/')
      ? null
      : el(
          'p',
          {},
          el(
            'a',
            {href: search_for({aggregate: `${event.aggregate_type}/${event.aggregate_id}`})},
            'Other events of its aggregate',
          ),
        ),
  );
}

export function make(main, about) {
  const place = el('div', {'aria-live': 'polite'}, el('p', {class: 'note'}, 'Loading …'));
  main.append(by_id(about), by_words(about), place);
  let before = '';
  return (data) => {
    const now = JSON.stringify(data, (key, value) =>
      key === 'age_seconds' || key === 'due_in_seconds' ? undefined : value,
    );
    if (now === before || place.contains(document.activeElement)) return;
    before = now;
    if (data.found) show_found(place, data, about);
    else if (data.missing) fill(place, el('p', {class: 'sentence'}, shown(data.missing.why, 1000)));
    else fill(place, data.events.map(one_event));
  };
}
