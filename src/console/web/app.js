// app: shows the page that the address names, the navigation and the user.

import {el, fill, shown, write} from './dom.js';
import {get, post, session, Refused} from './server.js';
import {poll} from './poll.js';
import {since} from './words.js';
import * as now from './page_now.js';
import * as stuck from './page_stuck.js';
import * as event from './page_event.js';
import * as audit from './page_audit.js';
import * as settings from './page_settings.js';
import * as outboxes from './page_outboxes.js';
import {login} from './login.js';

// Each page exports title; path(about), the path of its data; every(about), the polling interval in
// milliseconds (0: once); and make(main, about, speak), which returns update(data).
const pages_of_outbox = {now, stuck, event, audit, settings};
// The start page of a console with several outboxes. The pages of each are below outbox/NAME/.
const pages_of_list = {outboxes};
let pages = pages_of_outbox;
let outbox = ''; // its name, if there are several

const never = 2 ** 31 - 1; // milliseconds; the longest time of a timer

const main = document.getElementById('main');
const trouble = document.getElementById('trouble');
const spoken = document.getElementById('spoken');
let end = () => {};
let silent_since = null;

// Makes a screen reader read out a sentence, once for each change.
export function speak(words) {
  write(spoken, words);
}

function show_navigation(current) {
  fill(
    document.getElementById('nav'),
    el(
      'ul',
      {},
      outbox ? el('li', {}, el('a', {href: '../../'}, outboxes.title)) : null,
      Object.keys(pages).map((name) =>
        el(
          'li',
          {},
          el('a', {href: `#/${name}`, 'aria-current': name === current ? 'page' : null}, pages[name].title),
        ),
      ),
    ),
  );
}

function show_who(who) {
  pages = who.lists_outboxes ? pages_of_list : pages_of_outbox;
  outbox = who.outbox ?? '';
  const out = who.logged_in
    ? el(
        'button',
        {
          type: 'button',
          class: 'small',
          onclick: async () => {
            await post('logout', {}).catch(() => {});
            await start();
          },
        },
        'Log out',
      )
    : null;
  fill(
    document.getElementById('who'),
    el('span', {}, `${shown(who.name, 60)}, may ${who.may === 'act' ? 'act' : 'look'}`),
    out,
  );
}

function say_trouble(error) {
  if (error instanceof Refused) {
    silent_since = null;
    return fill(trouble, el('p', {class: 'trouble'}, shown(error.message, 1000)));
  }
  if (error.name === 'AbortError') return trouble;
  silent_since ??= new Date().toISOString();
  return fill(
    trouble,
    el(
      'p',
      {class: 'trouble'},
      'The console itself does not answer ',
      since(silent_since),
      '; trying again.',
    ),
  );
}

function no_trouble() {
  silent_since = null;
  if (trouble.hasChildNodes()) fill(trouble);
}

function ask_for_login() {
  end();
  fill(document.getElementById('nav'));
  fill(document.getElementById('who'));
  no_trouble();
  login(main, start);
}

function failed(error) {
  if (error instanceof Refused && error.status === 401) return ask_for_login();
  return say_trouble(error);
}

// In #/event/6f1c…, name is `event`, and about is 6f1c….
function route() {
  const [, name, ...rest] = location.hash.split('/');
  return {name: Object.hasOwn(pages, name) ? name : Object.keys(pages)[0], about: rest.join('/')};
}

function show() {
  const {name, about} = route();
  const page = pages[name];
  end();
  no_trouble();
  document.title = `${page.title} · ${outbox || 'outboxd'}`;
  write(document.getElementById('brand'), outbox || 'outboxd');
  show_navigation(name);
  fill(main, el('h1', {tabindex: '-1'}, page.title));
  const update = page.make(main, about, speak);
  const ask = (signal) => {
    const path = page.path(about);
    return path === null ? Promise.resolve(null) : get(path, signal);
  };
  end = poll(
    page.every(about) || never,
    ask,
    (data) => {
      no_trouble();
      if (data !== null) update(data);
    },
    failed,
  );
}

async function start() {
  try {
    show_who(await session());
    show();
  } catch (error) {
    failed(error);
    if (!(error instanceof Refused)) setTimeout(start, 2000);
  }
}

addEventListener('hashchange', () => {
  if (!location.hash.startsWith('#/')) return;
  show();
  main.querySelector('h1')?.focus();
});
document.getElementById('skip').addEventListener('click', (click) => {
  click.preventDefault();
  main.focus();
});
start();
