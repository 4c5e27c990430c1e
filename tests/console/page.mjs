// page: a browser at the console, and how what it shows is looked at. For check.mjs.
import {execFileSync} from 'node:child_process';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';

export const [program, outboxd, open, guarded, token, act_token, database, pictures] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const limit = 30_000;
let failures = 0;

export function count_of_failures() {
  return failures;
}

export function check(good, words) {
  if (!good) failures += 1;
  console.log(`${good ? 'ok   ' : 'WRONG'} ${words}`);
}

export function sql(text) {
  return execFileSync('psql', ['-qXAt', '-v', 'ON_ERROR_STOP=1', database], {
    input: text,
    encoding: 'utf8',
  }).trim();
}

function rabbitmqctl(...words) {
  execFileSync(process.env.OUTBOXD_TEST_RABBITMQCTL, ['-q', ...words], {stdio: ['ignore', 'ignore', 'inherit']});
}
// The queue of the orders, with its binding.
export const bind_queue = () => rabbitmqctl('import_definitions', `${process.cwd()}/queue.json`);
export const delete_queue = () => rabbitmqctl('delete_queue', 'console-check');
// Of RabbitMQ, as a part of the machine's: with 0 it takes no messages.
export const memory_limit = (part) => rabbitmqctl('set_vm_memory_high_watermark', part);

export const browser = await chromium.launch({executablePath: program, args: ['--no-sandbox']});

// A page that reports what goes wrong in it. Refusals that a test provokes are named in `expected`.
export async function page_at(url, options = {}, expected = /^$/) {
  const context = await browser.newContext({locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(limit);
  page.on('pageerror', (error) => check(false, `no error in the page: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text()))
      check(false, `nothing refused: ${message.text()}`);
  });
  await page.goto(url);
  return page;
}

// Until the page says so.
export async function says(page, selector, words) {
  await page.locator(selector).filter({hasText: words}).first().waitFor();
}

// The page's policy allows no script but its own: its context has to be made with `unguarded`.
export const unguarded = {bypassCSP: true};
export async function without_violations(page, what) {
  await page.addScriptTag({path: axe});
  const found = await page.evaluate(async () => {
    const result = await globalThis.axe.run(document, {resultTypes: ['violations']});
    return result.violations.map(
      (one) =>
        `${one.id}: ${one.nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 120))
          .join(' | ')}`,
    );
  });
  check(
    found.length === 0,
    `${what}: axe finds nothing${found.length > 0 ? `, but ${found.join('; ')}` : ''}`,
  );
}

// A child that does not outlive this process, however that ends.
export function ends_with_us(child) {
  process.on('exit', () => {
    child.kill('SIGCONT');
    child.kill();
  });
  return child;
}
