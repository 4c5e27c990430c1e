// dom: creates elements. Everything from events or servers is inserted as text, never as HTML.

// Control characters, bidirectional marks and zero-width characters, which can make a text look like another
// one.
const hidden =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
const longest = 300;

export function visible(text) {
  return String(text).replace(hidden, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, '0')}`);
}

// Makes an untrusted text safe to show: hidden characters become visible, and a long text is truncated.
export function shown(text, most = longest) {
  const all = [...visible(String(text).slice(0, most * 2))];
  const whole = all.length <= most && String(text).length <= most * 2;
  return whole ? all.join('') : `${all.slice(0, most).join('')}… (${String(text).length} characters)`;
}

// Example: el('p', {class: 'note'}, 'text', el('b', {}, 'more')). Attributes that are null, undefined or
// false are omitted. Attributes that begin with "on" are listeners.
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

// Changes a text only if it differs, so that the user's selection stays.
export function write(element, text) {
  const wanted = visible(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

// A table that can be scrolled with the keyboard. On a narrow screen its rows are shown as cards; the ARIA
// roles preserve the table for screen readers. columns: [{title, cell: (row) => …, number: true}]
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
          getSelection().selectAllChildren(said); // no clipboard without TLS: press Ctrl-C
          write(copy, 'Press Ctrl-C');
        }
      },
    },
    'Copy',
  );
  return el('span', {class: 'command'}, said, ' ', copy);
}
