/**
 * What the first sight of a page costs: the landing page of a visitor, and the overview of an account of 40 namespaces and 2,000 records. Prints scripts (gzip), requests,
 * octets on the wire, the largest contentful paint and the layout shift: the median of ROUNDS visits, each with an empty cache.
 *
 *   node bench/pages.ts [ROUNDS]
 *   node bench/pages.ts 9 --against DIR    another checkout in the same run, by turns
 */
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../test/support/browser/chromium.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' } },
});
const rounds = Number(positionals[0] ?? 9);

interface Visit {
  readonly scripts: number;
  readonly requests: number;
  readonly octets: number;
  readonly lcp: number;
  readonly shift: number;
}

interface Subject {
  readonly name: string;
  readonly origin: string;
  readonly cookie: string;
  readonly remove: () => Promise<void>;
}

type Support = typeof import('../test/support/server-process.ts');

/** A server of a checkout, with an account whose session is a cookie. */
async function subjectOf(name: string, checkout: URL): Promise<Subject> {
  const { startUqrp }: Support = await import(new URL('test/support/server-process.ts', checkout).href);
  const server = await startUqrp({ UQRP_REST_RATE: 'off' });
  const origin = `http://localhost:${server.ports.http}`;
  const email = 'ada@example.net';
  const token =
    server.cli(['user', 'create', email, '--tier', 'enterprise']) &&
    server.cli(['user', 'token', email]).trim();
  const call = async (path: string, body: object): Promise<Response> => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  for (let at = 0; at < 40; at++) {
    await call('/namespaces', { namespace: { name: `bench-${at}` } });
    const records = Array.from({ length: 50 }, (_, of) => ({
      key: `item-${of}.flag.bench-${at}.v1`,
      data: 'b24=',
      content_type: 'text/plain',
    }));
    await call('/records/bulk', { records });
  }
  const code = new Promise<string>((resolve) => {
    let text = '';
    server.child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const line = text.split('\n').find((each) => each.includes(email) && /\b\d{6}\b/.test(each));
      if (line !== undefined) resolve(/\b\d{6}\b/.exec(line)![0]);
    });
  });
  await call('/auth/sign_in', { email });
  const verified = await call('/auth/verify', { email, code: await code, cookie: true });
  return { name, origin, cookie: verified.headers.getSetCookie()[0] ?? '', remove: () => server.remove() };
}

async function visit(browser: Browser, { origin, cookie }: Subject, isSignedIn: boolean): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  if (isSignedIn) {
    const [pair = ''] = cookie.split(';');
    const at = pair.indexOf('=');
    await context.addCookies([{ name: pair.slice(0, at), value: pair.slice(at + 1), url: origin }]);
  }
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const types = new Map<string, string>();
  let [scripts, requests, octets] = [0, 0, 0];
  session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    requests++;
    octets += encodedDataLength;
    if (types.get(requestId) === 'Script') scripts += encodedDataLength;
  });
  await page.goto(origin, { waitUntil: 'load' });
  await page.waitForTimeout(1500);
  const { lcp, shift } = await page.evaluate(
    () =>
      new Promise<{ lcp: number; shift: number }>((resolve) => {
        // Types of browsers, which Node's declarations do not have.
        const observed = (type: string) => ({ type, buffered: true }) as unknown as { entryTypes: [] };
        let lcp = 0;
        let shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) lcp = entry.startTime;
        }).observe(observed('largest-contentful-paint'));
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) shift += (entry as unknown as { value: number }).value;
        }).observe(observed('layout-shift'));
        setTimeout(() => resolve({ lcp, shift }), 100);
      }),
  );
  await context.close();
  return { scripts, requests, octets, lcp, shift };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}

const subjects = [await subjectOf('this', new URL('../', import.meta.url))];
if (values.against !== undefined)
  subjects.push(await subjectOf('against', pathToFileURL(`${values.against}/`)));
const browser = await launchChromium();
for (const [page, isSignedIn] of [
  ['landing', false],
  ['overview', true],
] as const) {
  const visits = new Map(subjects.map((subject) => [subject, [] as Visit[]]));
  for (let round = 0; round < rounds; round++)
    for (const [subject, made] of visits) made.push(await visit(browser, subject, isSignedIn));
  for (const [{ name }, made] of visits) {
    const of = (key: keyof Visit): number => median(made.map((one) => one[key]));
    process.stdout.write(
      `${page.padEnd(9)} ${name.padEnd(8)} scripts ${(of('scripts') / 1024).toFixed(1)} KB, ${of('requests')} requests, ` +
        `${(of('octets') / 1024).toFixed(0)} KB, LCP ${of('lcp').toFixed(0)} ms, CLS ${of('shift').toFixed(4)}\n`,
    );
  }
}
await browser.close();
for (const subject of subjects) await subject.remove();
