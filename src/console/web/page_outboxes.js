// page_outboxes: all outboxes of this console, the worst first.

import {el, fill, shown, table} from './dom.js';
import {age, count, rate} from './words.js';

export const title = 'Outboxes';
export const every = () => 5000;
export const path = () => 'outboxes';

const marks = {ok: '✓', warn: '!', bad: '✕'};

const columns = [
  {title: 'Outbox', cell: (row) => el('a', {href: `outbox/${encodeURIComponent(row.name)}/`}, shown(row.name))},
  {
    title: 'State',
    cell: (row) => [
      el('strong', {class: `mark ${row.headline.level}`, 'aria-hidden': 'true'}, marks[row.headline.level]),
      ' ',
      shown(row.headline.text),
    ],
  },
  {title: 'Published', number: true, cell: (row) => known(row.published_per_second, rate)},
  {title: 'Oldest due', number: true, cell: (row) => known(row.oldest_due_age_seconds, age)},
  {title: 'Waiting', number: true, cell: (row) => known(row.waiting, count)},
  {title: 'Dead', number: true, cell: (row) => known(row.dead, count)},
];

function known(value, words) {
  return value === null ? '–' : words(value);
}

function summary(rows) {
  const wrong = rows.filter((row) => row.headline.level !== 'ok').length;
  if (wrong === 0) return `All ${rows.length} outboxes are well.`;
  return `${wrong} of ${rows.length} outboxes ${wrong === 1 ? 'needs' : 'need'} a look.`;
}

export function make(main, about, speak) {
  const words = el('p', {class: 'note'}, 'Loading …');
  const place = el('div');
  main.append(words, place);
  return ({outboxes}) => {
    const now = summary(outboxes);
    fill(words, now);
    speak(now);
    // The focus stays on its link when the rows are made again.
    const focused = document.activeElement?.getAttribute('href');
    fill(place, table('Outboxes', columns, outboxes));
    if (focused) [...place.querySelectorAll('a')].find((one) => one.getAttribute('href') === focused)?.focus();
  };
}
