// edit: the fields of an edit. They show the values of a single event, and are empty for several events.

import {area, field, tick} from './form.js';
import {get, may_see_payloads} from './server.js';

const most_of_headers = 16384; // characters, the server's limit

// was: the event's value as the field shows it.
function show(part, value) {
  if (value === null || part.input.value !== '') return;
  part.input.value = value;
  part.was = part.input.value;
}

function changed(part) {
  return part.input.value === (part.was ?? '') ? undefined : part.input.value;
}

async function show_event(id, {type, exchange, key, headers, payload}) {
  const event = (await get(`event?id=${id}`)).events[0];
  show(type, event.event_type);
  show(exchange, event.exchange);
  show(key, event.routing_key);
  if (!may_see_payloads()) return;
  const carried = await get(`payload?id=${id}&seq=${event.seq}`);
  if (carried.payload === null) return;
  if (carried.headers !== null && carried.headers.length < most_of_headers) show(headers, carried.headers);
  if (carried.bytes === carried.shown_bytes && carried.type !== 'bytea') show(payload, carried.payload);
}

export function edit_fields(wanted, retry) {
  const unchanged = {placeholder: 'as it is', size: '28'};
  const parts = {
    type: field('edit-type', 'Event type', unchanged),
    exchange: field('edit-exchange', 'Exchange', unchanged),
    key: field('edit-key', 'Routing key', unchanged),
    headers: area('edit-headers', 'Headers, a JSON object', {placeholder: 'as they are'}),
    payload: area('edit-payload', 'Payload', {placeholder: 'as it is'}),
  };
  const by_route = tick('edit-by-route', 'Exchange and routing key by its route');
  const {headers, payload, ...names} = parts;
  const texts = may_see_payloads() ? [headers, payload] : [];
  // A value that cannot be shown leaves its field empty, but can be set.
  if (wanted.id?.length === 1) show_event(wanted.id[0], parts).catch(() => {});
  return {
    elements: [...Object.values(names), by_route, ...texts].map((one) => one.element),
    values: () => ({
      what: 'edit',
      retry,
      set_event_type: changed(parts.type),
      set_exchange: changed(parts.exchange),
      set_routing_key: changed(parts.key),
      by_route: by_route.input.checked,
      set_headers: changed(headers),
      set_payload: changed(payload),
    }),
  };
}
