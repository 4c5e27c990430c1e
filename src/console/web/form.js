// form: fields with their labels.

import {el} from './dom.js';

// A text field; returns {element, input}. more: attributes of the input.
export function field(id, label, more = {}) {
  const {value = '', ...attributes} = more;
  const input = el('input', {
    id,
    name: id,
    spellcheck: 'false',
    autocomplete: 'off',
    size: '18',
    ...attributes,
  });
  input.value = value;
  return {input, element: el('span', {class: 'field'}, el('label', {for: id}, label), input)};
}

// Like field, but with several lines.
export function area(id, label, more = {}) {
  const input = el('textarea', {id, name: id, spellcheck: 'false', autocomplete: 'off', rows: '5', cols: '60', ...more});
  return {input, element: el('span', {class: 'field'}, el('label', {for: id}, label), input)};
}

// choices: [[value, words]]
export function choice(id, label, choices, chosen = '') {
  const input = el(
    'select',
    {id, name: id},
    choices.map(([value, words]) => el('option', {value, selected: value === chosen}, words)),
  );
  return {input, element: el('span', {class: 'field'}, el('label', {for: id}, label), input)};
}

export function tick(id, label) {
  const input = el('input', {type: 'checkbox', id, name: id});
  return {input, element: el('span', {class: 'tick'}, input, el('label', {for: id}, label))};
}

// Calls `then` instead of submitting the form.
export function form(attributes, then, ...children) {
  return el(
    'form',
    {
      ...attributes,
      onsubmit: (submit) => {
        submit.preventDefault();
        then();
      },
    },
    ...children,
  );
}
