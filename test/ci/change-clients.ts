/**
 * Clients that are not ours follow `GET /changes/stream` on a real server, over a restart of it: `curl -N`, httpx of Python, `eventsource`
 * of npm, and the EventSource of chromium. Each goes on with `Last-Event-ID`, and must have each change once, in order. One that is not
 * installed is skipped with a line that says so; `eventsource` comes from the registry into a folder that is removed.
 *
 *   node test/ci/change-clients.ts
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchChromium } from '../support/browser/chromium.ts';
import { browserMissing } from '../support/control/passkeys/browser.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

const CHANGES = 40;
const PATIENCE_MS = 60_000;
/** Newer ones of a major version may do otherwise; this is what was tried. */
const EVENTSOURCE = 'eventsource@4.1.0';

/** A client that follows from `since`, and hands over what it is told: an id and the JSON of a change. */
interface Running {
  /** Whether it connects again by itself. */
  readonly reconnects: boolean;
  stop(): Promise<void> | void;
}

type Told = (id: string, data: string) => void;
type Start = (base: string, owner: Account, since: string, told: Told) => Promise<Running>;

const folder = mkdtempSync(join(tmpdir(), 'uqrp-change-clients-'));

/** A program that prints what it is told: lines of the stream itself. */
function printing(command: string, args: readonly string[], told: Told): Running {
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let rest = '';
  let id = '';
  let event = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('data: ') && event === '') told(id, line.slice(6));
      else if (line === '') event = '';
    }
  });
  return { reconnects: false, stop: () => void child.kill() };
}

const HTTPX = `
import sys, httpx
url, token, since = sys.argv[1:]
headers = {"authorization": "Bearer " + token, "last-event-id": since}
try:
    with httpx.stream("GET", url, headers=headers, timeout=httpx.Timeout(5, read=30)) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            print(line.rstrip("\\n"), flush=True)
except httpx.HTTPError:
    pass
`;

const NPM = `
import { EventSource } from 'eventsource';
const [url, token] = process.argv.slice(2);
const source = new EventSource(url, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization: 'Bearer ' + token } }),
});
source.addEventListener('message', ({ lastEventId, data }) => console.log('id: ' + lastEventId + '\\ndata: ' + data + '\\n'));
`;

const CLIENTS: Readonly<Record<string, Start | string>> = {
  'curl -N':
    spawnSync('curl', ['--version']).status === 0
      ? async (base, { token }, since, told) => {
          const headers = ['-H', `authorization: Bearer ${token}`, '-H', `last-event-id: ${since}`];
          return printing('curl', ['-sN', ...headers, `${base}/changes/stream`], told);
        }
      : 'curl is not installed',
  httpx:
    spawnSync('/usr/bin/python3', ['-c', 'import httpx']).status === 0
      ? async (base, { token }, since, told) =>
          printing('/usr/bin/python3', ['-c', HTTPX, `${base}/changes/stream`, token, since], told)
      : 'python3-httpx is not installed',
  eventsource: installEventSource()
    ? async (base, { token }, since, told) => {
        const url = `${base}/changes/stream?since=${since}`;
        const child = printing(process.execPath, [join(folder, 'client.mjs'), url, token], told);
        return { ...child, reconnects: true };
      }
    : `${EVENTSOURCE} cannot be had from the registry`,
  chromium: browserMissing() ?? followInChromium,
};

function installEventSource(): boolean {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  writeFileSync(join(folder, 'client.mjs'), NPM);
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', EVENTSOURCE];
  return spawnSync('npm', args, { cwd: folder, timeout: 60_000, stdio: 'ignore' }).status === 0;
}

async function followInChromium(base: string, owner: Account, since: string, told: Told): Promise<Running> {
  const browser = await launchChromium();
  const page = await browser.newPage();
  const origin = `http://localhost:${new URL(base).port}`;
  await page.goto(`${origin}/sign-in`);
  const cookie = { name: 'uqrp_session', value: owner.token, url: origin } as const;
  await page.context().addCookies([{ ...cookie, httpOnly: true, sameSite: 'Strict' }]);
  await page.exposeFunction('told', told);
  await page.evaluate(`{
    const source = new EventSource('/api/v1/changes/stream?since=${since}');
    globalThis.source = source;
    source.onmessage = ({ lastEventId, data }) => globalThis.told(lastEventId, data);
  }`);
  return { reconnects: true, stop: () => browser.close() };
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !isSo(); await sleep(20)) assert.ok(Date.now() < end, what);
}

interface Follower {
  readonly name: string;
  readonly owner: Account;
  readonly start: string;
  readonly seen: { readonly id: string; readonly data: string }[];
  /** Starts the client again, where it does not by itself. */
  again(): Promise<void>;
  stop(): Promise<void>;
}

/** A customer of its own for each client: three streams of a person may be open. */
async function follow(server: Uqrp, name: string, index: number, begin: Start): Promise<Follower> {
  const owner = account(server, `client${index}@example.net`);
  const { body } = await owner.call('GET', '/changes');
  const { next: start } = body as { next: string };
  await owner.call('POST', '/namespaces', { namespace: { name: `client${index}` } });
  const seen: { id: string; data: string }[] = [];
  const told: Told = (id, data) => void seen.push({ id, data });
  let running = await begin(owner.base, owner, start, told);
  return {
    name,
    owner,
    start,
    seen,
    async again() {
      if (running.reconnects) return;
      await running.stop();
      running = await begin(owner.base, owner, seen.at(-1)!.id, told);
    },
    stop: async () => running.stop(),
  };
}

async function write({ owner }: Follower, index: number, from: number): Promise<void> {
  for (let i = from; i < from + CHANGES; i++) {
    const key = `k${i}.r.client${index}.v1`;
    const answer = await owner.call('POST', '/records', { record: { key, data: 'TUFSS0VS' } });
    assert.equal(answer.status, 201);
  }
}

let server = await startUqrp({ UQRP_WORKERS: '1' });
const followers: Follower[] = [];
try {
  for (const [name, begin] of Object.entries(CLIENTS)) {
    if (typeof begin === 'string') process.stdout.write(`skipped: ${name}: ${begin}\n`);
    else followers.push(await follow(server, name, followers.length, begin));
  }
  assert.ok(followers.length > 0);
  await Promise.all(followers.map((one, i) => write(one, i, 0)));
  for (const { name, seen } of followers) await until(`${name}: ${seen.length}`, () => seen.length > CHANGES);

  const { ports, dataDir } = server;
  await server.stop();
  server = await startUqrp({ UQRP_WORKERS: '1', UQRP_HTTP_PORT: String(ports.http) }, dataDir);
  const writing = Promise.all(followers.map((one, i) => write(one, i, CHANGES)));
  for (const follower of followers) await follower.again();
  await writing;
  for (const { name, owner, start, seen } of followers) {
    await until(`${name}: ${seen.length} after the restart`, () => seen.length > 2 * CHANGES);
    const { body } = await owner.call('GET', `/changes?since=${start}&limit=500`);
    const { changes } = body as { changes: { event: string; key?: string; etag?: string }[] };
    const bare = ({ event, key, etag }: (typeof changes)[number]): unknown => [event, key, etag];
    assert.deepEqual(
      seen.map(({ data }) => bare(JSON.parse(data))),
      changes.map(bare),
      name,
    );
    assert.ok(seen.every(({ id, data }) => (JSON.parse(data) as { cursor: string }).cursor === id));
    assert.ok(!JSON.stringify(seen).includes('TUFSS0VS'));
    process.stdout.write(`${name}: ${seen.length} changes over a restart, each once in order\n`);
  }
} finally {
  await Promise.all(followers.map((one) => one.stop()));
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
