import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hookedFiles, recordedFiles } from '../../test/support/base/files/hooked-files.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../test/support/base/files/simulated-files.ts';
import { mulberry } from '../../test/support/feed/bus/feed-world.ts';
import { copyOn, secretsOf } from '../../test/support/feed/keys/secrets-world.ts';
import { usageSpool } from '../dns/accounting/spool.ts';
import { loadKeys, updateKeys } from '../dns/dnssec/key-files.ts';
import { type KeySet, keySetData } from '../dns/dnssec/key-set.ts';
import { diskFiles, sharedFile } from '../feed/snapshots/shared-files.ts';
import { loadSecret } from '../ops/config/data-dir.ts';
import { readState, writeState } from '../view/lmdb/view-directory.ts';
import {
  createFileSync,
  type Files,
  makeFolderSync,
  readIfThere,
  replaceFile,
  replaceFileSync,
} from './files.ts';

/** A file that must be found after a loss of power. `write` gets 1, then 2. */
interface DurableFile {
  readonly name: string;
  write(files: Files, value: number): void | Promise<void>;
  /** What it holds, null for nothing. @throws where it is damaged */
  read(files: Files): string | null | Promise<string | null>;
  /** What is written the second time. */
  readonly order: readonly string[];
}

const replaced = (name: string, folder = 'data'): string[] => [
  `write ${name}.draft`,
  `sync ${name}.draft`,
  `rename ${name}.draft ${name}`,
  `sync ${folder}/`,
];
/** Longer than a sector of the disk, so that it can be torn. */
const long = (value: number): string => `${value} `.repeat(700);
const whole = (text: string | null): string | null => {
  assert.ok(text === null || text === long(1) || text === long(2), `torn: ${text?.slice(0, 20)}`);
  return text;
};
const NOW = 1_800_000_000_000;

const createdLater = (keys: KeySet): { keys: KeySet } => ({
  keys: { ...keys, keys: keys.keys.map((key) => ({ ...key, createdAt: NOW + 1 })) },
});

const FILES: readonly DurableFile[] = [
  {
    name: 'a file that is replaced',
    write: (files, value) => replaceFileSync('/data/a', long(value), 0o600, files),
    read: (files) => whole(readIfThere('/data/a', files)),
    order: replaced('a'),
  },
  {
    name: 'a file that is replaced while others wait',
    write: (files, value) => replaceFile('/data/a', long(value), 0o600, files),
    read: (files) => whole(readIfThere('/data/a', files)),
    order: replaced('a'),
  },
  {
    name: 'the spool of usage counts',
    async write(files, value) {
      const counts = Array.from({ length: 40 }, (_, i) => ({
        namespaceId: `n${i}`,
        hour: NOW,
        answers: value,
      }));
      await usageSpool('/data/edge', files).write([{ node: 'fra1', batch: `b${value}`, counts }]);
    },
    async read(files) {
      const [batch] = await usageSpool('/data/edge', files).read();
      return batch?.batch ?? null;
    },
    order: replaced('usage.json', 'edge'),
  },
  {
    name: 'the state of a view',
    write: (files, value) => writeState('/data', value, 'clean', files),
    read: (files) => readIfThere('/data/state', files) && JSON.stringify(readState('/data', files)!),
    order: replaced('state'),
  },
  {
    name: "the copy of a node's secrets",
    write: (files, value) =>
      copyOn(files).write({ at: NOW, database: 'd', secrets: secretsOf(String(value).repeat(600)) }),
    read: (files) => copyOn(files).read()?.secrets.zones[0]?.mark ?? null,
    order: replaced('node-secrets'),
  },
  {
    name: "a zone's keys",
    write(files, value) {
      const clock = (): number => NOW;
      if (value === 1) loadKeys('/data', 'uqrp.net', clock, files);
      else updateKeys('/data', 'uqrp.net', clock, createdLater, files);
    },
    read(files) {
      if (readIfThere('/data/keys/uqrp.net.json', files) === null) return null;
      const { keys } = keySetData(loadKeys('/data', 'uqrp.net', () => NOW, files));
      return JSON.stringify(keys);
    },
    order: [
      'write uqrp.net.json.draft',
      'sync uqrp.net.json.draft',
      'rename uqrp.net.json.draft uqrp.net.json',
      'sync keys/',
      'remove uqrp.net.json.lock',
    ],
  },
  {
    name: 'a downloaded file',
    async write(files, value) {
      const draft = await diskFiles('/data/incoming', files).create('geoip');
      await draft.write(Buffer.from(long(value).slice(0, 1000)));
      await draft.write(Buffer.from(long(value).slice(1000)));
      await sharedFile('geoip', '/data/geoip.mmdb', files).replace(await draft.finish(), value);
    },
    read: (files) => whole(readIfThere('/data/geoip.mmdb', files)),
    order: ['write geoip', 'write geoip', 'sync geoip', 'rename geoip geoip.mmdb', 'sync data/'],
  },
  {
    name: 'a file that is made once',
    write: (files) => void createFileSync('/data/once', long(1), 0o600, files),
    read: (files) => whole(readIfThere('/data/once', files)),
    order: ['write once.draft', 'sync once.draft', 'link once.draft once', 'remove once.draft', 'sync data/'],
  },
  {
    name: 'the secret of a data directory',
    write: (files) => void loadSecret('/data', null, true, files),
    read: (files) =>
      readIfThere('/data/secret', files) && Buffer.from(loadSecret('/data', null, false, files)).toString(),
    order: [],
  },
];

interface Crash {
  readonly disk: SimulatedDisk;
  readonly seen: string | null;
  /** What it may hold. */
  readonly allowed: readonly (string | null)[];
}

/** Writes twice, loses power after some calls of either, and reads. @throws where the file is damaged */
async function crashed(durable: DurableFile, seed: number, isSynced = true): Promise<Crash> {
  const random = mulberry(seed);
  const disk = createSimulatedDisk({ random, now: () => NOW });
  makeFolderSync('/data', 0o700, disk.files());
  const allowed: (string | null)[] = [null];
  let left = Math.floor(random() * 60);
  for (const value of [1, 2]) {
    const files = hookedFiles(disk.files(), ({ call }) => {
      if (left-- <= 0) throw new PowerLossError();
      return !isSynced && (call === 'sync' || call === 'syncFolder') ? 'skip' : undefined;
    });
    try {
      await durable.write(files, value);
      allowed.length = 0;
    } catch (error) {
      if (!(error instanceof PowerLossError)) throw error;
    }
    const now = await durable.read(disk.files());
    if (!allowed.includes(now)) allowed.push(now);
    if (left < 0) break;
  }
  disk.powerLoss();
  return { disk, allowed, seen: await durable.read(disk.files()) };
}

class PowerLossError extends Error {}

const SEEDS = 300;

for (const durable of FILES) {
  describe(`power is lost: ${durable.name}`, () => {
    it('has its old content or its new one, whole, and the new one once the write has ended', async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { seen, allowed } = await crashed(durable, seed);
        assert.ok(allowed.includes(seen), `seed ${seed}: ${seen?.slice(0, 40)} of ${allowed.length}`);
      }
    });

    it('without its syncs it is lost or torn, which this test sees', async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { seen, allowed } = await crashed(durable, seed, false).catch(() => ({
          seen: 'damaged',
          allowed: [],
        }));
        if (!(allowed as readonly unknown[]).includes(seen)) return;
      }
      assert.fail('no seed lost anything');
    });

    it('writes, syncs and renames in this order', async () => {
      const disk = createSimulatedDisk({ random: mulberry(1), now: () => NOW }).files();
      makeFolderSync('/data', 0o700, disk);
      await durable.write(disk, 1);
      const { files, events } = recordedFiles(disk);
      await durable.write(files, 2);
      assert.deepEqual(events, durable.order);
    });
  });
}
