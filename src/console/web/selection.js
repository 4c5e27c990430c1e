// selection: buttons for the selected events of a search, and for all matching events.

import {button} from './act.js';
import {el, fill} from './dom.js';
import {may_act} from './server.js';
import {events} from './words.js';

const by_status = {
  dead: ['retry', 'edit_dead', 'discard'],
  published: ['replay'],
  pending: ['cancel', 'postpone', 'edit'],
  waiting: ['cancel', 'postpone', 'edit'],
};

// The actions for an event with this status.
export function doable(status) {
  return by_status[status] ?? [];
}

// The search as selectors of a command, without the status, so that actions on unsent events select both
// pending and waiting events, as the preview says.
function selectors_of(given) {
  const out = {};
  if (given.type) out.event_type = [given.type];
  if (given.aggregate) out.aggregate = [given.aggregate];
  if (given.code) out.code = [given.code];
  if (given.since) out.since = given.since;
  if (given.until) out.until = given.until;
  return Object.keys(out).length > 0 ? out : {all: true};
}

// found: rows. given: the search. Returns additional columns of the table, and the buttons: `all` for all
// matching events, `ticked` for the selected events.
export function choose(found, given) {
  if (!may_act()) return {columns: [], all: null, ticked: null};
  const boxes = new Map();
  const place = el('p', {class: 'actions', role: 'group', 'aria-label': 'Ticked events'});

  function show() {
    const rows = found.filter((row) => boxes.get(row.id)?.checked);
    const possible = [...new Set(rows.flatMap((row) => doable(row.status)))];
    fill(
      place,
      rows.length === 0 ? 'Tick events to act on them.' : `${events(rows.length)} ticked:`,
      possible.map((what) => {
        const ids = rows.filter((row) => doable(row.status).includes(what)).map((row) => row.id);
        return button(what, {id: ids}, `${events(ids.length)} of those that are ticked`);
      }),
    );
  }

  function box(row) {
    const out = el('input', {type: 'checkbox', 'aria-label': `Tick event ${row.id}`, onchange: show});
    boxes.set(row.id, out);
    return out;
  }

  show();
  const whole = doable(given.status);
  return {
    columns: [{title: 'Tick', cell: box}],
    all: el(
      'p',
      {class: 'actions', role: 'group', 'aria-label': 'All that match'},
      whole.length === 0
        ? 'Choose a status to act on all events that match.'
        : ['All that match:', whole.map((what) => button(what, selectors_of(given), 'all events that match'))],
    ),
    ticked: place,
  };
}
