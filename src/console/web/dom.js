// dom: makes elements. Whatever comes from events or servers goes in as text, never as HTML.

// Controls, marks that turn the direction of writing, and what has no width: they could make a text look like
// another one.
const hidden =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
const longest = 300;

export function visible(text) {
  return String(text).replace(hidden, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, '0')}`);
}

// A text of others as a reader can take it: nothing hidden, and cut where it is too long.
export function shown(text, most = longest) {
  const all = [...visible(String(text).slice(0, most * 2))];
  const whole = all.length <= most && String(text).length <= most * 2;
  return whole ? all.join('') : `${all.slice(0, most).join('')}… (${String(text).length} characters)`;
}

// el('p', {class: 'note'}, 'text', el('b', {}, 'more')). Attributes that are null or false are left out; those
// that begin with "on" are listeners.
export function el(name, attributes = {}, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) out.addEventListener(key.slice(2), value);
    else out.setAttribute(key, value === true ? '' : String(value));
  }
  fill(out, ...children);
  return out;
}

export function fill(element, ...children) {
  const flat = children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);
  element.replaceChildren(
    ...flat.map((one) => (one instanceof Node ? one : document.createTextNode(visible(one)))),
  );
  return element;
}

// Changes a text only if it is another one: a reader's selection stays.
export function write(element, text) {
  const wanted = visible(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

// A table that can be scrolled by keyboard; where there is little room its rows are cards, which the roles keep a
// table for screen readers. columns: [{title, cell: (row) => …, number: true}]
export function table(caption, columns, rows) {
  const kind = (one) => (one.number ? 'number' : null);
  const head = el(
    'tr',
    {role: 'row'},
    columns.map((one) => el('th', {scope: 'col', role: 'columnheader', class: kind(one)}, one.title)),
  );
  const body = rows.map((row) =>
    el(
      'tr',
      {role: 'row'},
      columns.map((one) =>
        el('td', {role: 'cell', class: kind(one), 'data-title': one.title}, el('div', {}, one.cell(row))),
      ),
    ),
  );
  return el(
    'div',
    {class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0'},
    el(
      'table',
      {role: 'table', 'aria-label': caption},
      el('thead', {role: 'rowgroup'}, head),
      el('tbody', {role: 'rowgroup'}, body),
    ),
  );
}

export function command(words) {
  const said = el('code', {}, words);
  const copy = el(
    'button',
    {
      type: 'button',
      class: 'small',
      'aria-label': `Copy the command ${words}`,
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(words);
          write(copy, 'Copied');
        } catch {
          getSelection().selectAllChildren(said); // no clipboard without TLS: it is ready for Ctrl-C
          write(copy, 'Press Ctrl-C');
        }
      },
    },
    'Copy',
  );
  return el('span', {class: 'command'}, said, ' ', copy);
}
