// act: the dialog of an action: a preview of the selected events, the reason, the progress, the result.

import {command, el, fill, shown, table, visible, write} from './dom.js';
import {deeds} from './deeds.js';
import {field, form} from './form.js';
import {get, may_act, post, Refused} from './server.js';
import {events, number, time} from './words.js';

const ended = ['done', 'stopped', 'failed'];
const look_every = 500; // milliseconds

const pause = (ms) => new Promise((over) => setTimeout(over, ms));

// A button that opens the dialog, or null if the user may not act. `about` names the button's object for a
// screen reader.
export function button(what, wanted, about, words = `${deeds[what].verb} …`) {
  if (!may_act()) return null;
  return el(
    'button',
    {
      type: 'button',
      class: deeds[what].danger ? 'small danger' : 'small',
      'aria-label': `${deeds[what].verb} ${about}`,
      'aria-haspopup': 'dialog',
      onclick: () => open(what, wanted),
    },
    words,
  );
}

// Only a command without control characters can be copied, because a terminal would interpret them.
function as_command(words) {
  return visible(words) === words && words.length < 2000
    ? command(words)
    : el('code', {}, shown(words, 1000));
}

function open(what, wanted) {
  const deed = deeds[what];
  const title = el('h2', {id: 'act-title', tabindex: '-1'}, deed.verb);
  const body = el('div');
  const dialog = el(
    'dialog',
    {
      'aria-labelledby': 'act-title',
      onclose: () => {
        dialog.remove();
        if (begun) dispatchEvent(new Event('hashchange')); // reload the page, whose data has changed
      },
    },
    title,
    body,
  );
  let begun = false;

  const close = (words) => el('button', {type: 'button', onclick: () => dialog.close()}, words);

  function ask_fields() {
    const fields = deed.fields(wanted);
    const wrong = el('p', {class: 'wrong', role: 'alert'});
    fill(
      body,
      el('p', {}, deed.means),
      form(
        {class: 'search', 'aria-label': `What to ${what}`},
        () => preview({what, ...wanted, ...fields.values()}, wrong),
        fields.elements,
        wrong,
        el('span', {class: 'actions'}, el('button', {type: 'submit'}, 'Preview'), close('Close')),
      ),
    );
    body.querySelector('input, select').focus();
  }

  async function preview(order, wrong) {
    if (wrong) fill(wrong, '');
    else fill(body, el('p', {role: 'status'}, 'Looking for the events …'));
    try {
      show_preview(await post('action/preview', order));
    } catch (error) {
      if (wrong) return fill(wrong, shown(error.message, 1000));
      fill(body, el('p', {class: 'wrong', role: 'alert'}, shown(error.message, 1000)), close('Close'));
      return body.querySelector('button').focus();
    }
    return null;
  }

  function show_preview(plan) {
    if (nothing_to_do(plan)) {
      fill(body, el('p', {role: 'status'}, nothing_to_do(plan)), close('Close'));
      return body.querySelector('button').focus();
    }
    const reason = field('act-reason', 'Why (for the record)', {
      required: true,
      maxlength: '300',
      placeholder: 'ticket 4711',
      size: '40',
      'aria-describedby': 'act-wrong',
    });
    const wrong = el('p', {class: 'wrong', role: 'alert', id: 'act-wrong'});
    const words = plan.matched === undefined ? deed.verb : `${deed.verb} ${events(plan.matched)}`;
    const go = el('button', {type: 'submit', class: deed.danger ? 'danger' : null}, words);
    fill(
      body,
      el('p', {class: 'sentence'}, what_it_is(plan)),
      el('p', {}, deed.means),
      warnings(plan),
      first_events(plan),
      el('p', {class: 'note'}, 'The same on the command line:'),
      el('p', {}, as_command(plan.command)),
      form(
        {class: 'search', 'aria-label': 'Do it'},
        async () => {
          go.disabled = true;
          begun = true;
          await apply(plan, reason.input.value.trim(), wrong);
          go.disabled = false;
        },
        reason.element,
        wrong,
        el('span', {class: 'actions'}, go, close('Leave it as it is')),
      ),
    );
    return reason.input.focus();
  }

  // The token makes the action run once, however often this request is sent.
  async function apply(plan, reason, wrong) {
    for (;;) {
      try {
        return await follow(await post('action/apply', {token: plan.token, reason}));
      } catch (error) {
        fill(wrong, shown(error.message, 1000));
        if (error instanceof Refused || !dialog.open) return null;
        await pause(2 * look_every);
      }
    }
  }

  async function follow(first) {
    let seen = first;
    const bar = el('progress', {'aria-label': 'How much is done', max: String(Math.max(1, seen.matched ?? 1))});
    const words = el('p', {role: 'status'});
    const halt = el(
      'button',
      {type: 'button', onclick: () => post('action/stop', {token: seen.token}).catch(() => {})},
      'Stop',
    );
    fill(
      body,
      bar,
      words,
      el('p', {class: 'note'}, 'It goes on when you close this; Actions shows it.'),
      el('span', {class: 'actions'}, seen.matched === undefined ? null : halt, close('Close')),
    );
    title.focus();
    while (!ended.includes(seen.state) && dialog.open) {
      if (seen.matched !== undefined) bar.value = seen.handled;
      write(words, progress_of(seen));
      await pause(look_every);
      try {
        seen = await get(`action?token=${seen.token}`);
      } catch (error) {
        if (error instanceof Refused) return show_lost(error);
        write(words, 'The console does not answer; trying again.');
      }
    }
    return dialog.open ? show_result(seen) : null;
  }

  function show_lost(error) {
    fill(
      body,
      el('p', {class: 'wrong', role: 'alert'}, shown(error.message, 1000)),
      el('p', {}, 'What was done until then is under ', el('a', {href: '#/audit'}, 'Actions'), '.'),
      close('Close'),
    );
  }

  function show_result(seen) {
    const left = (seen.matched ?? 0) - (seen.handled ?? 0);
    const rest =
      left > 0 && seen.unsure === 0
        ? el(
            'button',
            {type: 'button', onclick: () => preview({what, rest_of: seen.token})},
            `Go on with the other ${number(left)} …`,
          )
        : null;
    fill(body, result_of(seen, deed), el('span', {class: 'actions'}, rest, close('Close')));
    body.querySelector('button:last-of-type').focus();
  }

  document.body.append(dialog);
  dialog.showModal();
  if (deed.fields) ask_fields();
  else preview({what, ...wanted});
}

function nothing_to_do(plan) {
  if (plan.matched === 0) return `No event that is ${plan.of} is selected: there is nothing to do.`;
  if (plan.ends?.length === 0) return 'Nothing of that is paused (any more).';
  return null;
}

function what_it_is(plan) {
  if (plan.rest) return `${events(plan.matched)}, which are left.`;
  if (plan.matched !== undefined)
    return `${events(plan.matched)} that ${plan.matched === 1 ? 'is' : 'are'} ${plan.of}.`;
  if (plan.ends) return `${number(plan.ends.length)} ${plan.ends.length === 1 ? 'pause ends' : 'pauses end'}.`;
  if (plan.waiting === null) return 'The waiting events cannot be counted at the moment.';
  const more = plan.waiting > plan.waiting_counts_to;
  return more
    ? `It holds back more than ${events(plan.waiting_counts_to)} that wait.`
    : `It holds back ${events(plan.waiting)} that ${plan.waiting === 1 ? 'waits' : 'wait'}.`;
}

function warnings(plan) {
  const all = (plan.warnings ?? []).map((one) => shown(one, 500));
  for (const one of plan.running ?? [])
    all.push(`${shown(one.who, 60)} is working on these, too: ${one.what}, ${number(one.handled)} of ${events(one.matched)}.`);
  return all.length === 0 ? null : el('ul', {class: 'wrong'}, all.map((one) => el('li', {}, one)));
}

function first_events(plan) {
  if (!plan.events || plan.events.length === 0) return null;
  const title = plan.matched > plan.events.length ? `The first ${plan.events.length} of them` : 'All of them';
  return [
    el('p', {class: 'note'}, `${title}:`),
    table(
      title,
      [
        {title: 'Created', cell: (row) => time(row.created_at)},
        {title: 'Event type', cell: (row) => shown(row.event_type ?? 'cannot be read', 60)},
        {title: 'Aggregate', cell: (row) => shown(`${row.aggregate_type}/${row.aggregate_id}`, 60)},
        {title: 'Reason', cell: (row) => el('code', {}, shown(row.last_error_code ?? '–', 60))},
        {title: 'Event', cell: (row) => el('code', {}, `${row.id.slice(0, 8)}…`)},
      ],
      plan.events,
    ),
  ];
}

function progress_of(seen) {
  if (seen.matched === undefined) return 'Doing it …';
  if (seen.state === 'unsure')
    return `PostgreSQL is away. ${number(seen.handled)} of ${events(seen.matched)} are done; whether the next ${number(seen.unsure)} are shows when it is back.`;
  if (seen.handled === seen.matched) return 'All are done; checking whether it was in time …';
  return `${number(seen.handled)} of ${events(seen.matched)} are done.`;
}

function others_of(seen) {
  const rest = seen.handled - seen.changed;
  if (rest <= 0) return null;
  const known = Object.entries(seen.otherwise).map(([status, many]) => `${number(many)} ${status}`);
  return `${events(rest)} ${rest === 1 ? 'was' : 'were'} left alone: changed since the preview${known.length > 0 ? ` (now ${known.join(', ')})` : ''}.`;
}

function result_of(seen, deed) {
  const bad = seen.state === 'failed';
  const lines = [];
  if (seen.changed !== undefined) {
    lines.push(`${events(seen.changed)} ${deed.done}.`);
    const others = others_of(seen);
    if (others) lines.push(others);
    if (seen.too_late > 0)
      lines.push(`${number(seen.in_time)} in time; ${number(seen.too_late)} too late: they went out as they were.`);
    if (seen.state === 'stopped')
      lines.push(`It was stopped after ${number(seen.handled)} of ${events(seen.matched)}.`);
    if (bad) lines.push(`It ended after ${number(seen.handled)} of ${events(seen.matched)}.`);
  } else if (!bad) {
    lines.push(seen.ended === undefined ? 'Paused.' : `${number(seen.ended)} ended.`);
  }
  return [
    el('p', {class: 'sentence', role: bad ? 'alert' : 'status'}, lines.join(' ')),
    bad ? el('p', {class: 'wrong'}, shown(seen.message, 1000)) : null,
    (seen.meanwhile ?? []).map((one) =>
      el('p', {class: 'note'}, `Meanwhile: ${one.what}, ${events(one.events)}, by ${shown(one.who, 150)}.`),
    ),
  ];
}
