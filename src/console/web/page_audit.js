// page_audit: what operators have done.

import {el, fill, shown, table} from './dom.js';
import {number, time} from './words.js';

export const title = 'Actions';
export const every = () => 5000;
export const path = () => 'audit';

export function make(main) {
  const place = el('div', {}, el('p', {class: 'note'}, 'Looking …'));
  main.append(
    el(
      'p',
      {class: 'note'},
      'What was done by operators, from the table audit of the outbox; the newest 100.',
    ),
    place,
  );
  let before = '';
  return (data) => {
    const now = JSON.stringify(data);
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
