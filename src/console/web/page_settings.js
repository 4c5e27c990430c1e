// page_settings: the settings in force, without secrets.

import {el, fill, shown} from './dom.js';

export const title = 'Settings';
export const every = () => 0;
export const path = () => 'settings';

export function make(main) {
  const from = el('p', {class: 'note'}, 'Loading …');
  const text = el('pre', {tabindex: '0', 'aria-label': 'The settings as TOML'});
  main.append(from, text);
  return (data) => {
    const sources =
      data.sources.length > 0 ? data.sources.map((one) => shown(one)).join(', ') : 'nowhere but the defaults';
    fill(
      from,
      `The settings of this console, from ${sources}. A relay may have others: outboxd run --print-config --all shows them.`,
    );
    // shown() would replace line breaks, so each line is an element.
    fill(
      text,
      data.toml.split('\n').flatMap((line) => [el('span', {}, shown(line, 1000)), el('br')]),
    );
  };
}
