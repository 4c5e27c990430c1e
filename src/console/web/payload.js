// payload: shows an event's payload and headers on request, if the user may see them, as text and never as
// HTML.

import {el, fill, shown, visible} from './dom.js';
import {get, may_see_payloads} from './server.js';
import {number} from './words.js';

function lines_of(text) {
  return text.split('\n').flatMap((line) => [visible(line), el('br')]);
}

function content(data) {
  if (data.payload === null) return el('p', {class: 'note'}, shown(data.why, 500));
  const cut = data.bytes > data.shown_bytes;
  const kind = data.type === 'bytea' ? ', as hexadecimal digits' : '';
  return [
    el(
      'p',
      {class: 'note'},
      `${number(data.bytes)} bytes of ${data.type}${kind}${cut ? `; these are the first ${number(data.shown_bytes)}` : ''}.`,
    ),
    el('pre', {tabindex: '0', 'aria-label': 'The payload'}, lines_of(data.payload)),
    data.headers === null
      ? null
      : [
          el('p', {class: 'note'}, 'Its own headers:'),
          el('pre', {tabindex: '0', 'aria-label': 'The headers'}, lines_of(data.headers)),
        ],
  ];
}

export function payload_of(event) {
  if (!may_see_payloads()) return null;
  const place = el('div', {'aria-live': 'polite'});
  const ask = el(
    'button',
    {
      type: 'button',
      class: 'small',
      onclick: async () => {
        try {
          fill(place, content(await get(`payload?id=${event.id}&seq=${event.seq}`)));
        } catch (error) {
          fill(place, el('p', {class: 'wrong', role: 'alert'}, shown(error.message, 500)));
        }
      },
    },
    'Show the payload',
  );
  return el('div', {}, el('p', {}, ask), place);
}
