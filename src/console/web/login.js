// login: asks for a token.

import {el, fill, shown} from './dom.js';
import {form} from './form.js';
import {post} from './server.js';

export function login(main, then) {
  const wrong = el('p', {class: 'wrong', role: 'alert', id: 'wrong'});
  const token = el('input', {
    type: 'password',
    id: 'token',
    name: 'token',
    autocomplete: 'current-password',
    required: true,
    'aria-describedby': 'wrong token-help',
  });
  const ask = form(
    {class: 'login'},
    async () => {
      fill(wrong);
      try {
        await post('login', {token: token.value});
        token.value = '';
        await then();
      } catch (error) {
        fill(wrong, shown(error.message));
        token.focus();
      }
    },
    el('label', {for: 'token'}, 'Token'),
    token,
    el(
      'p',
      {class: 'note', id: 'token-help'},
      'The content of the file that console.read_token_file or console.act_token_file names.',
    ),
    wrong,
    el('button', {type: 'submit'}, 'Log in'),
  );
  document.title = 'Log in · outboxd';
  fill(main, el('h1', {tabindex: '-1'}, 'Log in'), ask);
  token.focus();
}
