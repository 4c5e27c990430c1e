// poll: asks again and again while the page is seen.

// ask: (signal) => promise of an answer; take(answer); fail(error). Returns a function that ends it.
export function poll(every, ask, take, fail) {
  let timer = 0;
  let running = null;
  let ended = false;

  async function turn() {
    clearTimeout(timer);
    if (ended || document.hidden || running !== null) return;
    running = new AbortController();
    try {
      const answer = await ask(running.signal);
      if (!ended) take(answer);
    } catch (error) {
      if (!ended) fail(error);
    } finally {
      running = null;
      if (!ended && !document.hidden) timer = setTimeout(turn, every);
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
