// deeds: the actions on events and parts of the outbox, with their texts and input fields.

import {edit_fields} from './edit.js';
import {choice, field, tick} from './form.js';

const given = (value) => (value.trim() === '' ? undefined : value.trim());

function replay_fields() {
  const exchange = field('replay-exchange', 'To this exchange', {placeholder: 'its own'});
  const unnamed = tick('replay-default', 'To the default exchange: the key is the name of a queue');
  const key = field('replay-key', 'With this routing key', {placeholder: 'its own'});
  const rate = field('replay-rate', 'Most events in a second', {placeholder: 'no limit', inputmode: 'numeric'});
  return {
    elements: [exchange, key, rate, unnamed].map((one) => one.element),
    values: () => ({
      exchange: unnamed.input.checked ? '' : given(exchange.input.value),
      routing_key: given(key.input.value),
      rate: given(rate.input.value) === undefined ? undefined : Number(rate.input.value),
    }),
  };
}

function postpone_fields() {
  const to = field('postpone-to', 'Not before', {
    placeholder: '2h, or 2026-01-31 14:00',
    required: true,
    size: '28',
  });
  return {elements: [to.element], values: () => ({to: given(to.input.value)})};
}

function pause_fields(wanted) {
  const until = field('pause-until', 'Until', {placeholder: 'somebody resumes it; or 2h', size: '28'});
  const end = () => ({until: given(until.input.value)});
  if (Object.keys(wanted).length > 0) return {elements: [until.element], values: end};
  const part = choice('pause-part', 'Pause', [
    ['event_type', 'an event type'],
    ['aggregate_type', 'an aggregate type'],
    ['exchange', 'an exchange (* and ? as in a glob)'],
    ['routing_key', 'a routing key (* and ? as in a glob)'],
    ['all', 'everything'],
  ]);
  const name = field('pause-name', 'Its name', {placeholder: 'order.created', size: '28', required: true});
  part.input.addEventListener('change', () => {
    name.input.disabled = part.input.value === 'all';
  });
  return {
    elements: [part.element, name.element, until.element],
    values: () => ({
      ...end(),
      ...(part.input.value === 'all' ? {all: true} : {[part.input.value]: [name.input.value.trim()]}),
    }),
  };
}

// verb: the label of buttons. done: follows "12 events" in the result. means: explains the action.
// fields(wanted): the fields to fill in before the preview.
export const deeds = {
  retry: {
    verb: 'Retry',
    done: 'wait to be published again',
    means: 'They are published once more, in their old places.',
  },
  discard: {
    verb: 'Discard',
    done: 'deleted',
    means: 'They are deleted for good. The table discarded keeps what they were, without their payloads.',
    danger: true,
  },
  replay: {
    verb: 'Replay',
    done: 'wait to be published again',
    means: 'They are published once more, with the same ids.',
    fields: replay_fields,
  },
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    means: 'They do not go out: they become dead, and Retry takes that back.',
    danger: true,
  },
  postpone: {
    verb: 'Postpone',
    done: 'postponed',
    means: 'They go out later, and hold no other event back until then.',
    fields: postpone_fields,
  },
  edit: {
    verb: 'Edit',
    done: 'edited',
    means: 'They go out with what is changed here. What stays empty is left as it is.',
    fields: (wanted) => edit_fields(wanted, false),
  },
  edit_dead: {
    verb: 'Edit and requeue',
    done: 'edited and requeued',
    means: 'They are changed and published once more, in their old places. What stays empty is left as it is.',
    fields: (wanted) => edit_fields(wanted, true),
  },
  pause: {
    verb: 'Pause',
    means: 'Relays leave these events alone. They are kept, and go out when the pause ends.',
    fields: pause_fields,
  },
  resume: {verb: 'Resume', means: 'Relays publish these events again.'},
};
