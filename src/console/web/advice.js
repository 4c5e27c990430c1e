// advice: the remedy for a dead event, by its error code, as in the runbook's page "Dead events".

import {command, el} from './dom.js';

const first = {
  returned: 'Bind a queue for its routing key; then:',
  refused: 'Make the exchange, or grant the right to write to it; then:',
  nacked: 'Make room in the queue; then:',
  unconfirmed: 'See why its queue does not confirm; then:',
  channel_closed: 'RabbitMQ closes the channel over it, and its log says why. Repair that; then:',
  connection_closed: 'RabbitMQ closes the connection over it, and its log says why. Repair that; then:',
  cancelled: 'An operator has cancelled it. To take that back:',
};

// True if the event would become dead again unless it is changed.
export function is_at_fault(code) {
  return code === 'unencodable' || code === 'unreadable';
}

// which: selectors for the command line. id: the id of the event, or of an example.
export function advice(code, which, id) {
  if (code === 'unreadable')
    return [
      el('p', {}, 'PostgreSQL cannot read it, so a retry does not help. Correct the row, or discard it:'),
      command(`outboxd events show --id ${id}`),
    ];
  if (code === 'unencodable')
    return [
      el('p', {}, 'Unchanged, it would be dead again. Change what the reason names, for each:'),
      command(`outboxd events edit --id ${id} --set-headers headers.json --retry`),
    ];
  return [first[code] ? el('p', {}, first[code]) : null, command(`outboxd events retry ${which}`)];
}
