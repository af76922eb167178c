import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RRTYPE } from '../../src/edge/wire/codes.ts';
import { eventually, read } from '../e2e/client.ts';
import { observe } from '../support/observed.ts';
import { type Account, account, startUqrp } from '../support/server-process.ts';
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

/** A separate disk for the data directory. */
function smallDisk(): { readonly path: string; remove(): void } | null {
  const path = mkdtempSync(join(tmpdir(), 'uqrp-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', path]);
  if (status !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  return {
    path,
    remove() {
      spawnSync('umount', ['--lazy', path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

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

/** Fills the disk up to `LEFT_OCTETS`. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (const size of [1 << 20, 4096]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size, 1));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      }
    }
    ftruncateSync(file, fstatSync(file).size - LEFT_OCTETS);
  } finally {
    closeSync(file);
  }
}
