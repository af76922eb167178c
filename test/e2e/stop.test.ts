import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CLI, ended, settingsFor, startCommand } from '../support/command.ts';
import { openEvents } from '../support/control/query-log/event-reader.ts';
import { account, startUqrp } from '../support/server-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('stopping the server', () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-stop-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  it('leaves no process behind when npm start gets SIGTERM (newcomer finding 5)', async (t) => {
    if (spawnSync('npm', ['--version']).status !== 0) return t.skip('needs npm');
    const npm = startCommand('npm', ['start', '--prefix', ROOT], settingsFor(join(dir, 'npm')));
    const end = ended(npm);
    await printed(npm, 'uqrp serves');
    const family = descendants(npm.pid!);
    const servers = family.filter((pid) => commandOf(pid).includes('src/cli.ts'));
    assert.equal(servers.length, 1, 'one process of the server, and no shell in between');
    npm.kill('SIGTERM');
    await end;
    const deadline = Date.now() + 10_000;
    while (family.some(isAlive) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(family.filter(isAlive), []);
  });

  it('ends with code 0 when SIGTERM comes during the start (security finding 15)', async () => {
    // A database that accepts connections and never answers delays the start.
    const database = createServer();
    database.listen(0, '127.0.0.1');
    await once(database, 'listening');
    const { port } = database.address() as { port: number };
    const child = startCommand(process.execPath, [CLI, 'serve'], {
      ...settingsFor(join(dir, 'early')),
      UQRP_DATABASE_URL: `postgres://a:b@127.0.0.1:${port}/c`,
      UQRP_SECRET: 'x'.repeat(32),
    });
    const end = ended(child);
    const [socket] = await once(database, 'connection');
    child.kill('SIGTERM');
    const { code, signal, errors } = await end;
    socket.destroy();
    database.close();
    assert.deepEqual([code, signal], [0, null], errors);
    assert.match(errors, /"event":"server\.stopping".*\n.*"event":"server\.stopped"/);
  });

  it('ends open streams of the query log in order, and does not wait for a client that reads nothing', async () => {
    const server = await startUqrp({ UQRP_WORKERS: '1' });
    try {
      const customer = account(server);
      const reader = await openEvents(server.ports.http, customer);
      assert.equal(reader.status, 200);
      const silent = connect(server.ports.http, '127.0.0.1').on('error', () => {});
      silent.write(
        `GET /api/v1/query_logs/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${customer.token}\r\n\r\n`,
      );
      await once(silent, 'readable');
      const exit = once(server.child, 'exit');
      server.child.kill('SIGTERM');
      await reader.ended();
      assert.equal(reader.isWhole(), true);
      assert.deepEqual(await exit, [0, null]);
      silent.destroy();
    } finally {
      await server.remove();
    }
  });

  it('goes on when the reader of its summary and its log goes away', async () => {
    const child = startCommand(process.execPath, [CLI, 'serve', '--json'], settingsFor(join(dir, 'pipe')));
    const line = await printed(child, '\n');
    const { ports } = JSON.parse(line) as { ports: { http: number } };
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.kill('SIGHUP');
    assert.equal((await fetch(`http://127.0.0.1:${ports.http}/readyz`)).status, 200);
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  });
});

/** Waits until the child prints `text`. @returns its output up to there */
function printed(child: ChildProcess, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (out.includes(text)) resolve(out);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code} after: ${out}`)));
  });
}

/** The process and all its descendants. */
function descendants(pid: number): number[] {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((other) => other > 0 && parentOf(other) === pid);
  return [pid, ...children.flatMap(descendants)];
}

function parentOf(pid: number): number | null {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`) ?? '';
}

/** A zombie counts as ended: its parent has not read its exit code yet. */
function isAlive(pid: number): boolean {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat !== null && !/^\d+ \(.*\) Z/s.test(stat);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
