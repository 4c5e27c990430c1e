// page_now: the current state in one sentence, the figures, and the relays.

import {button} from './act.js';
import {chart} from './chart.js';
import {el, fill, shown, table, write} from './dom.js';
import {age, count, number, rate, since, time} from './words.js';

export const title = 'Now';
export const every = () => 2000;

const kept = 600; // seconds
const marks = {ok: ['✓', 'All well'], warn: ['!', 'Look at this'], bad: ['✕', 'Problem']};

let points = [];
export function path() {
  return `now?after=${points.length > 0 ? points[points.length - 1][0] : 0}`;
}

function tile(name, href = null) {
  const value = el('dd', {class: 'value'}, '–');
  const note = el('dd', {class: 'note'});
  const label = href === null ? name : el('a', {href}, name);
  return {
    element: el('div', {class: 'tile'}, el('dt', {}, label), value, note),
    set(words, more = '') {
      write(value, words);
      write(note, more);
    },
  };
}

function relay_rows(data) {
  const asked = data.relays.filter((one) => one.status !== null);
  const named = data.status.relays ?? [];
  const shards = data.status.shards ?? [];
  return named.map((one) => {
    const bells = shards
      .filter((shard) => shard.leader === one.name && one.pids.includes(shard.leader_pid))
      .map((shard) => shard.doorbell);
    return {...one, bells: [...new Set(bells)].join(', '), asked: asked.length};
  });
}

function show_relays(place, data) {
  const rows = relay_rows(data);
  if (rows.length === 0) {
    return fill(
      place,
      el('p', {}, 'No relay is connected to PostgreSQL. Start one with ', el('code', {}, 'outboxd run'), '.'),
    );
  }
  return fill(
    place,
    table(
      'Relays',
      [
        {title: 'Relay', cell: (row) => shown(row.host ?? row.name, 80)},
        {title: 'Version', cell: (row) => row.version ?? 'not known'},
        {
          title: 'Leads',
          cell: (row) => (row.leads.length > 0 ? `shard ${row.leads.join(', ')}` : 'standby'),
        },
        {title: 'Notifications', cell: (row) => row.bells || '–'},
        {title: 'Connected', cell: (row) => (row.since ? since(row.since) : 'hidden from this user')},
        {
          title: 'Address',
          cell: (row) => (row.hidden ? 'hidden from this user' : shown(row.address ?? 'local socket', 60)),
        },
      ],
      rows,
    ),
  );
}

function told_by(list, kind) {
  return list.map((one) =>
    el(
      'li',
      {},
      el('strong', {}, kind),
      ' ',
      el('code', {}, shown(one.code, 60)),
      ': ',
      shown(one.message, 500),
      ' ',
      since(one.since),
    ),
  );
}

function show_asked(place, data) {
  if (data.relays.length === 0) return fill(place);
  return fill(
    place,
    el('h2', {}, 'Status of the relays'),
    data.relays.map((one) => {
      if (one.status === null) return el('p', {class: 'wrong'}, shown(one.error, 500));
      const status = one.status;
      const lanes = status.lanes ?? {};
      return el(
        'section',
        {class: 'card'},
        el('h3', {}, shown(one.url, 100)),
        el(
          'p',
          {},
          status.ready ? 'Ready. ' : 'Not ready. ',
          `Connections: ${lanes.open ?? 0} open, ${lanes.blocked ?? 0} blocked, ${lanes.down ?? 0} down. `,
          `${number(status.confirms_in_flight ?? 0)} in flight, ${number(status.events_published_total ?? 0)} published since its start.`,
        ),
        el('ul', {}, told_by(status.reasons ?? [], 'Not ready'), told_by(status.warnings ?? [], 'Warning')),
      );
    }),
  );
}

export function make(main, _about, speak) {
  points = [];
  const mark = el('span', {class: 'mark', 'aria-hidden': 'true'});
  const level = el('span', {class: 'unseen'});
  const sentence = el('p', {class: 'sentence'}, 'Loading …');
  const todo = el('p', {class: 'todo'});
  const headline = el(
    'section',
    {class: 'headline', 'aria-label': 'What is going on'},
    mark,
    el('div', {}, level, sentence, todo),
  );
  const tiles = {
    due: tile('Oldest due'),
    pending: tile('Pending'),
    rate: tile('Published'),
    waiting: tile('Waiting', '#/stuck'),
    dead: tile('Dead', '#/stuck'),
    relays: tile('Relays'),
  };
  const published = chart('Published per second', [{label: 'published/s', color: '--good', words: rate}]);
  const backlog = chart('Events that wait', [
    {label: 'pending', color: '--blue', words: number},
    {label: 'waiting', color: '--amber', words: number},
  ]);
  const pauses = el('div', {class: 'actions'});
  const relays = el('div');
  const asked = el('div');
  const seen = el('p', {class: 'note'});
  const unread = el('ul', {class: 'wrong'});
  main.append(
    headline,
    unread,
    el(
      'dl',
      {class: 'tiles'},
      Object.values(tiles).map((one) => one.element),
    ),
    pauses,
    el('div', {class: 'charts'}, published.element, backlog.element),
    el('h2', {}, 'Relays'),
    relays,
    asked,
    seen,
  );
  let before = '';
  let paused_before = null;

  // Replaces the buttons only after a pause or a resume, so that the focus stays.
  function show_pauses(paused) {
    const now = paused.length > 0;
    if (now === paused_before) return;
    paused_before = now;
    fill(
      pauses,
      button('pause', {all: true}, 'everything', 'Pause everything …'),
      now ? button('resume', {all: true}, 'everything', 'Resume everything …') : null,
    );
  }

  function show_figures(status, data) {
    const events = status.events;
    if (events === undefined) return;
    tiles.due.set(
      age(status.oldest_due_age_seconds),
      status.oldest_due_age_seconds === null ? 'nothing is due' : 'since it was due',
    );
    tiles.pending.set(count(events.pending), 'to be published');
    tiles.rate.set(
      rate(data.published_per_second),
      `${count(status.published_last_minute)} in the last minute`,
    );
    tiles.waiting.set(
      count(events.waiting),
      `${number(events.waiting.backing_off)} back off, ${number(events.waiting.parked)} blocked, ${number(events.waiting.scheduled)} scheduled`,
    );
    tiles.dead.set(count(events.dead), events.dead.count > 0 ? 'wait for a decision' : 'none');
  }

  return (data) => {
    const {headline: words, status} = data;
    headline.className = `headline ${words.level}`;
    write(mark, marks[words.level][0]);
    write(level, `${marks[words.level][1]}: `);
    write(sentence, shown(words.text, 600));
    fill(todo, shown(words.todo, 300), words.since ? [' It is so ', since(words.since), '.'] : null);
    if (words.code !== before) speak(`${marks[words.level][1]}: ${words.text}`);
    before = words.code;
    fill(
      unread,
      (status.errors ?? []).map((one) => el('li', {}, shown(one, 500))),
    );
    show_figures(status, data);
    if (status.relays !== undefined) {
      const led = (status.shards ?? []).filter((one) => one.leader !== null).length;
      tiles.relays.set(
        number(status.relays.length),
        `${led} of ${(status.shards ?? []).length} shards are led`,
      );
      show_relays(relays, data);
    }
    show_pauses(status.paused ?? []);
    show_asked(asked, data);
    points.push(...(data.figures ?? []));
    const last = points.length > 0 ? points[points.length - 1][0] : 0;
    points = points.filter((one) => one[0] > last - kept);
    published.draw([points.map((one) => one[0]), points.map((one) => one[1])]);
    backlog.draw([points.map((one) => one[0]), points.map((one) => one[2]), points.map((one) => one[3])]);
    fill(
      seen,
      status.seen_at ? ['Seen at ', time(status.seen_at), '. '] : null,
      `Schema ${shown(status.schema, 70)}, console ${data.version ?? ''}.`,
    );
  };
}
