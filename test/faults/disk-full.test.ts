import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { eventually, read } from '../e2e/client.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import { observe } from '../support/observed.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { askSigned, servedKeys } from '../support/signed-answers.ts';

const PATIENCE_MS = 30_000;
const DISK = '32m';
const PAYLOAD = Buffer.from('giraffepayload'.padEnd(2000, 'x')).toString('base64');
/** Enough records to fill the rest of the disk several times. */
const MOST_WRITES = 4000;
/** Concurrent writes, so that they share a commit. */
const WRITERS = 8;
/** Free space for the writes before the disk is full. */
const LEFT_OCTETS = 512 * 1024;

interface Refusal {
  readonly status: number;
  readonly body: unknown;
}

interface SmallDisk {
  readonly path: string;
  resize(size: string): void;
  remove(): void;
}

/** A separate disk for the data directory. */
function smallDisk(size = DISK): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), 'uqrp-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]);
  if (status !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  return {
    path,
    resize(to) {
      assert.equal(spawnSync('mount', ['-o', `remount,size=${to}`, path]).status, 0);
    },
    remove() {
      spawnSync('umount', ['--lazy', path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

describe('a disk with less room than snapshots leave', { skip: natsMissing() ?? false }, () => {
  it('gets no copy and takes writes, and snapshots are made again once there is room (a copy filled the disk)', async (t) => {
    const disk = smallDisk('400m');
    if (disk === null) return t.skip('needs the right to mount a file system');
    const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
    try {
      const control = await world.start(world.controlEnv, join(disk.path, 'data'));
      const customer = account(control);
      await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
      const makes = async (): Promise<boolean> => {
        try {
          control.cli(['feed', 'snapshot']);
          return true;
        } catch {
          return false;
        }
      };
      await eventually(makes, PATIENCE_MS);
      disk.resize('90m');
      assert.equal(await makes(), false);
      assert.equal(existsSync(join(control.dataDir, 'snapshots', 'copy')), false);
      const record = { key: 'a.zebraspace.v1', data: PAYLOAD };
      assert.equal((await customer.call('POST', '/records', { record })).status, 201);
      disk.resize('400m');
      await eventually(makes, PATIENCE_MS);
    } finally {
      await world.close();
      disk.remove();
    }
  });
});

describe('a disk that is full below SQLite and the view', () => {
  it('fails writes cleanly, stops no answer, loses nothing that was acknowledged, and is no more once there is space', async (t) => {
    const disk = smallDisk();
    if (disk === null) return t.skip('needs the right to mount a file system');
    const server = await startUqrp({ UQRP_WORKERS: '1' }, join(disk.path, 'data'));
    const observed = observe(server);
    try {
      const customer = account(server);
      await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
      server.cli(['namespace', 'public-read', 'zebraspace', 'on']);
      const keys = await servedKeys(server.ports.dns);
      const acknowledged: string[] = [];
      await write(customer, 'first', acknowledged);
      const answersFirst = async (): Promise<boolean> => {
        const { by, records } = await askSigned(server.ports.dns, nameOf('first'), RRTYPE.TXT, [keys]);
        // The answer is REFUSED until the edge has the namespace.
        if (records.length === 0) return false;
        assert.deepEqual(by, [0]);
        return true;
      };
      await eventually(answersFirst, PATIENCE_MS);

      const ballast = join(disk.path, 'ballast');
      fill(ballast);
      const refused = await writeUntilRefused(customer, 'k', acknowledged);
      assert.ok(acknowledged.length > WRITERS, 'some writes came before the disk was full');
      assert.deepEqual(Object.keys(refused.body as object).sort(), ['code', 'error']);
      assert.ok(refused.status >= 500, String(refused.status));
      // Reads over REST and DNS, while writes fail.
      assert.ok(await answersFirst());
      await assertStored(customer, acknowledged);
      // The write-ahead log may have been truncated since, which leaves space for some more.
      await writeUntilRefused(customer, 'again', acknowledged);

      rmSync(ballast);
      await eventually(async () => (await write(customer, 'later', acknowledged)) === null, PATIENCE_MS);
      await assertStored(customer, acknowledged);
      for (const key of acknowledged) {
        await eventually(async () => (await read(server, nameOf(key))).payload !== null, PATIENCE_MS);
      }
      await observed.check(['giraffe', 'zebraspace', PAYLOAD.slice(0, 40)]);
    } finally {
      observed.end();
      await server.stop();
      disk.remove();
    }
  });

  it('keeps no start from serving DNS, whatever ended the server before, and glues nothing to a line of the log (operator findings 4, 5, 6)', async (t) => {
    const disk = smallDisk('6m');
    if (disk === null) return t.skip('needs the right to mount a file system');
    const dataDir = join(disk.path, 'data');
    const starts: Uqrp[] = [];
    const logs: string[] = [];
    const started = async (): Promise<Uqrp> => {
      const server = await startUqrp({ UQRP_WORKERS: '1' }, dataDir);
      const at = logs.push('') - 1;
      server.child.stderr?.on('data', (chunk: Buffer) => {
        logs[at] += chunk.toString();
      });
      starts.push(server);
      return server;
    };
    const ended = async (server: Uqrp, signal: NodeJS.Signals): Promise<void> => {
      const gone = once(server.child, 'exit');
      server.child.kill(signal);
      await gone;
    };
    const ready = async ({ ports }: Uqrp): Promise<{ ready: boolean; stale: boolean }> =>
      (await (await fetch(`http://127.0.0.1:${ports.http}/readyz`)).json()) as {
        ready: boolean;
        stale: boolean;
      };
    try {
      let server = await started();
      const customer = account(server);
      await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
      server.cli(['namespace', 'public-read', 'zebraspace', 'on']);
      await write(customer, 'first', []);
      const payload = async (key: string): Promise<string | null> =>
        (await read(server, nameOf(key))).payload;
      await eventually(async () => (await payload('first')) !== null, PATIENCE_MS);
      const records = (batch: number) =>
        Array.from({ length: 200 }, (_, i) => ({ key: `b${batch}-${i}.zebraspace.v1`, data: PAYLOAD }));
      let status = 200;
      for (let batch = 0; batch < 40 && status < 500; batch++)
        ({ status } = await customer.call('POST', '/records/bulk', { records: records(batch) }));
      assert.equal(status, 500, 'the disk becomes full');
      // Single writes take the rest. The view needs more room for each than the database.
      await writeUntilRefused(customer, 'k', []);
      await eventually(async () => (await ready(server)).stale, PATIENCE_MS);
      const metrics = await (await fetch(`http://127.0.0.1:${server.ports.http}/metrics`)).text();
      const [, free] = /^uqrp_data_dir_free_bytes (\d+)$/m.exec(metrics) ?? [];
      assert.ok(Number(free) < 6 * 2 ** 20, `free: ${free}`);
      const ballast = join(disk.path, 'ballast');
      for (const signal of ['SIGKILL', 'SIGTERM', 'SIGTERM'] as const) {
        await ended(server, signal);
        fill(ballast, 0);
        server = await started();
        assert.deepEqual((await ready(server)).ready, true);
        assert.equal(await payload('first'), Buffer.from(PAYLOAD, 'base64').toString());
      }
      rmSync(ballast);
      spawnSync('mount', ['-o', 'remount,size=64m', disk.path]);
      await eventually(async () => !(await ready(server)).stale, PATIENCE_MS);
      await ended(server, 'SIGTERM');
      const lines = logs.flatMap((log) => log.split('\n').filter((line) => line !== ''));
      const events = lines.map(
        (line) => JSON.parse(line) as { event: string; path?: string; reason?: string },
      );
      const of = (event: string) => events.filter((line) => line.event === event);
      assert.ok(of('feed.failing').some(({ reason, path }) => reason === 'disk_full' && path === 'view'));
      assert.ok(of('store.full').every(({ path }) => path === 'uqrp.sqlite'));
      assert.ok(of('store.full').length > 0);
    } finally {
      for (const server of starts) await server.stop();
      disk.remove();
    }
  });
});

const nameOf = (key: string): string => `get.${key}.zebraspace.v1`;

/** @returns null when the write was acknowledged */
async function write(as: Account, key: string, acknowledged: string[]): Promise<Refusal | null> {
  const reply = await as.call('POST', '/records', { record: { key: `${key}.zebraspace.v1`, data: PAYLOAD } });
  if (reply.status !== 201) return reply;
  acknowledged.push(key);
  return null;
}

/** Writes several records at once, again and again, until the full disk refuses one. @returns that refusal */
async function writeUntilRefused(as: Account, prefix: string, acknowledged: string[]): Promise<Refusal> {
  for (let i = 0; i < MOST_WRITES; i += WRITERS) {
    const keys = Array.from({ length: WRITERS }, (_, at) => `${prefix}${i + at}`);
    const replies = await Promise.all(keys.map((key) => write(as, key, acknowledged)));
    const refused = replies.find((reply) => reply !== null);
    if (refused !== undefined) return refused;
  }
  assert.fail('the disk becomes full');
}

/** Every acknowledged record is stored, and no refused one. */
async function assertStored(as: Account, acknowledged: readonly string[]): Promise<void> {
  const { status, body } = await as.call('GET', '/records?namespace=zebraspace');
  assert.equal(status, 200);
  const records = body as { key: string; data: string }[];
  assert.deepEqual(
    records.map(({ key }) => key).sort(),
    acknowledged.map((key) => `${key}.zebraspace.v1`).sort(),
  );
  assert.ok(records.every(({ data }) => data === PAYLOAD));
}

/** Fills the disk, but for some octets. */
function fill(path: string, left = LEFT_OCTETS): void {
  const file = openSync(path, 'a');
  try {
    for (const size of [1 << 20, 4096]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size, 1));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      }
    }
    ftruncateSync(file, fstatSync(file).size - left);
  } finally {
    closeSync(file);
  }
}
