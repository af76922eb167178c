import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSimulatedDisk } from '../../test/support/base/files/simulated-files.ts';
import { copyOn, secretsOf } from '../../test/support/feed/keys/secrets-world.ts';
import { usageSpool } from '../dns/accounting/spool.ts';
import { loadKeys } from '../dns/dnssec/key-files.ts';
import { loadSecret } from '../ops/config/data-dir.ts';
import { readState, writeState } from '../view/lmdb/view-directory.ts';
import { type Files, makeFolderSync, replaceFileSync, systemFiles } from './files.ts';

const clock = (): number => 1_800_000_000_000;

interface KeptFile {
  readonly path: string;
  make(files: Files): unknown;
  /** As a start does. */
  open(files: Files): unknown;
  /** What the start says of a damaged file; null: it goes on as without the file. */
  readonly says: RegExp | null;
  /** As `says`, of a file that the disk does not give. */
  readonly ofDisk: RegExp | null;
}

const KEPT: readonly KeptFile[] = [
  {
    path: '/data/secret',
    make: (files) => loadSecret('/data', null, true, files),
    open: (files) => loadSecret('/data', null, true, files),
    says: /file secret in UQRP_DATA_DIR must hold 64 hex letters: put it back from a backup/,
    ofDisk: /EIO.*\/data\/secret/,
  },
  {
    path: '/data/keys/uqrp.net.json',
    make: (files) => loadKeys('/data', 'uqrp.net', clock, files),
    open: (files) => loadKeys('/data', 'uqrp.net', clock, files),
    says: /^\/data\/keys\/uqrp\.net\.json: .*Put it back from a backup/,
    ofDisk: /EIO.*uqrp\.net\.json/,
  },
  {
    path: '/data/node-secrets',
    make: (files) => copyOn(files).write({ at: 1, database: 'd', secrets: secretsOf('a') }),
    open: (files) => copyOn(files).read(),
    says: /node-secrets is damaged, or was made with other credentials: it is not used\. It is replaced/,
    ofDisk: /EIO.*node-secrets/,
  },
  {
    path: '/data/edge/usage.json',
    make: (files) =>
      usageSpool('/data/edge', files).write([
        { node: 'fra1', batch: 'b', counts: [{ namespaceId: 'n', hour: 0, answers: 1 }] },
      ]),
    open: (files) => usageSpool('/data/edge', files).read(),
    says: /the file of unsent usage counts is damaged/,
    ofDisk: /EIO.*usage\.json/,
  },
  {
    path: '/data/state',
    make: (files) => writeState('/data', 3, 'clean', files),
    open: (files) => (readState('/data', files)?.isTrusted === true ? 'trusted' : null),
    says: null,
    ofDisk: null,
  },
];

const DAMAGES: Readonly<Record<string, (content: Buffer) => Buffer>> = {
  'is empty': () => Buffer.alloc(0),
  'is torn': (content) => content.subarray(0, content.length >> 1),
  // No letter of ASCII becomes another one: of a random secret in hex all flipped letters may be hex again.
  'has wrong octets': (content) =>
    content.map((octet, at) => (at % 7 === 3 ? octet ^ 0x80 : octet)) as Buffer,
};

for (const kept of KEPT) {
  const { path, says, ofDisk } = kept;
  describe(`a start finds that ${path}`, () => {
    const result = async (files: Files): Promise<string> => {
      try {
        return (await kept.open(files)) === null ? 'none' : 'used';
      } catch (error) {
        return (error as Error).message;
      }
    };

    for (const [what, damage] of Object.entries(DAMAGES)) {
      it(`${what}: ${says === null ? 'it goes on as without it' : 'it says so, and leaves the file as it is'}`, async () => {
        const files = createSimulatedDisk({ random: () => 0.5, now: clock }).files();
        makeFolderSync('/data', 0o700, files);
        await kept.make(files);
        assert.equal(await result(files), 'used');
        const content = damage(files.read(path));
        replaceFileSync(path, content, 0o600, files);
        const found = await result(files);
        if (says === null) assert.equal(found, 'none');
        else assert.match(found, says);
        assert.ok(files.read(path).equals(content));
      });
    }

    it(`cannot be read: ${ofDisk === null ? 'it goes on as without it' : 'it names the file'}`, async () => {
      const disk = createSimulatedDisk({ random: () => 0.5, now: clock });
      const files = disk.files();
      makeFolderSync('/data', 0o700, files);
      await kept.make(files);
      disk.faults.read = 1;
      const found = await result(files);
      if (ofDisk === null) assert.equal(found, 'none');
      else assert.match(found, ofDisk);
    });
  });
}

it('an error of reading names the file, as the system does not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'damaged-'));
  try {
    // A folder can be opened, and not be read.
    for (const files of [systemFiles, systemFiles.async]) {
      await assert.rejects(async () => files.read(folder), { code: 'EISDIR', message: new RegExp(folder) });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
