// outboxes: the list of several outboxes, and the way to the pages of one and back. For check.mjs.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {check, database, ends_with_us, outboxd, page_at, pictures, says, unguarded, without_violations} from './page.mjs';

// Returns the address of a console whose outboxes are in this folder.
function start_console(folder) {
  const console = ends_with_us(
    spawn(outboxd, ['console', '--outboxes', folder, '--console-listen', '127.0.0.1:0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  );
  return new Promise((resolve, reject) => {
    let said = '';
    console.stderr.on('data', (text) => {
      said += text;
      const found = /the console is at (\S+)/.exec(said);
      if (found) resolve({address: found[1], end: () => console.kill()});
    });
    console.on('exit', () => reject(new Error(said)));
  });
}

async function look_at_list(address) {
  for (const colorScheme of ['light', 'dark'])
    for (const width of [360, 1440]) {
      const name = `outboxes ${width} ${colorScheme}`;
      const page = await page_at(address, {viewport: {width, height: 900}, colorScheme, ...unguarded});
      await says(page, 'td', 'billing');
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      check(wide === 0, `${name}: nothing is wider than the screen`);
      await without_violations(page, name);
      if (pictures) await page.screenshot({path: `${pictures}/console-${name.replaceAll(' ', '-')}.png`});
      await page.context().close();
    }
}

export async function look_at_outboxes() {
  const folder = mkdtempSync(join(tmpdir(), 'outboxd-outboxes-'));
  const add = (name, url) => writeFileSync(join(folder, `${name}.toml`), `[database]\nurl = "${url}"\n`);
  add('orders', database);
  add('billing', 'postgresql://nobody@127.0.0.1:1/none');
  writeFileSync(join(folder, 'wrong.toml'), '[relay]\nlanes = 0\n');
  const {address, end} = await start_console(folder);
  try {
    await look_at_list(address);
    const page = await page_at(address);
    await says(page, 'tr', 'relay.lanes');
    await says(page, 'tr', 'PostgreSQL');
    const rows = await page.locator('tbody tr').allTextContents();
    check(rows.length === 3, 'each outbox is a row');
    await page.getByRole('link', {name: 'orders'}).click();
    await says(page, 'main', 'Seen at');
    check((await page.textContent('#brand')) === 'orders', 'the page of an outbox has its name');
    await page.getByRole('link', {name: 'Stuck'}).click();
    await says(page, 'h1', 'Stuck');
    await page.getByRole('link', {name: 'Outboxes'}).click();
    await says(page, 'td', 'billing');
    check(true, 'a link leads back to the list');
    await page.context().close();
  } finally {
    end();
    rmSync(folder, {recursive: true});
  }
}
