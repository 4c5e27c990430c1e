// page_audit: the actions of operators.

import {el, fill, shown, table} from './dom.js';
import {events, number, time} from './words.js';

export const title = 'Actions';
export const every = () => 5000;
export const path = () => 'audit';

function show_running(place, running) {
  fill(
    place,
    running.map((one) =>
      el(
        'p',
        {class: 'card'},
        `Under way: ${one.what}, ${number(one.handled)} of ${events(one.matched)}, by ${shown(one.who, 60)}. `,
        el('code', {}, shown(one.command, 300)),
      ),
    ),
  );
}

export function make(main) {
  const under_way = el('div', {role: 'status'});
  const place = el('div', {}, el('p', {class: 'note'}, 'Loading …'));
  main.append(
    el(
      'p',
      {class: 'note'},
      'What was done by operators, from the table audit of the outbox; the newest 100.',
    ),
    under_way,
    place,
  );
  let before = '';
  return (data) => {
    show_running(under_way, data.running ?? []);
    const now = JSON.stringify(data.actions);
    if (now === before || place.contains(document.activeElement)) return;
    before = now;
    if (data.actions.length === 0) {
      fill(
        place,
        el('p', {class: 'empty'}, 'Nobody has retried, discarded, replayed, paused or pruned anything yet.'),
      );
      return;
    }
    fill(
      place,
      table(
        'Actions',
        [
          {title: 'When', cell: (row) => time(row.at)},
          {title: 'What', cell: (row) => row.what},
          {title: 'Selection', cell: (row) => el('code', {}, shown(row.selection ?? '', 200))},
          {title: 'Events', number: true, cell: (row) => number(row.events)},
          {title: 'Reason', cell: (row) => shown(row.reason ?? '', 200)},
          {title: 'Who', cell: (row) => shown(row.who, 150)},
        ],
        data.actions,
      ),
    );
  };
}
