// poll: queries the server repeatedly while the page is visible.

const longest_without = 5000; // milliseconds; the longest pause after a failure

// every: milliseconds. ask: (signal) => promise of a result. take(result), fail(error): receive the outcome.
// Returns a function that ends the polling.
export function poll(every, ask, take, fail) {
  let timer = 0;
  let running = null;
  let ended = false;
  let next = every;

  async function turn() {
    clearTimeout(timer);
    if (ended || document.hidden || running !== null) return;
    running = new AbortController();
    try {
      const answer = await ask(running.signal);
      next = every;
      if (!ended) take(answer);
    } catch (error) {
      // A rejected request (4xx) would be rejected again. A server that does not answer may be back soon.
      next = error.status >= 400 && error.status < 500 ? every : Math.min(every, longest_without);
      if (!ended) fail(error);
    } finally {
      running = null;
      if (!ended && !document.hidden) timer = setTimeout(turn, next);
    }
  }

  function seen() {
    if (document.hidden) clearTimeout(timer);
    else turn();
  }

  document.addEventListener('visibilitychange', seen);
  turn();
  return () => {
    ended = true;
    clearTimeout(timer);
    running?.abort();
    document.removeEventListener('visibilitychange', seen);
  };
}
