// server: sends requests to the console's server.

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let csrf = '';
let who = {may: 'read'};

async function answer_of(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const error = body?.error ?? {
    code: 'no_answer',
    message: `the console answers with HTTP status ${response.status}`,
  };
  throw new Refused(response.status, error.code, error.message);
}

// path: relative to api/, with the query.
export async function get(path, signal) {
  return answer_of(await fetch(`api/${path}`, {signal, credentials: 'same-origin', cache: 'no-store'}));
}

export async function post(path, body) {
  return answer_of(
    await fetch(`api/${path}`, {
      method: 'POST',
      credentials: 'same-origin',
      headers: {'Content-Type': 'application/json', 'X-CSRF-Token': csrf},
      body: JSON.stringify(body),
    }),
  );
}

// Asks the server for the current user: {name, may, logged_in, payloads}.
export async function session() {
  who = await get('session');
  csrf = who.csrf;
  return who;
}

export function may_act() {
  return who.may === 'act';
}

export function may_see_payloads() {
  return who.payloads === true;
}
