import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countingNonces, hourKey } from '../../../test/support/feed/batch/keys.ts';
import { EPOCH, reasonOf, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { FORMAT, inPieces } from '../../../test/support/feed/snapshots/snapshot-world.ts';
import { LIMITS } from '../../base/limits.ts';
import {
  openManifest,
  openPart,
  partsIn,
  type SnapshotManifest,
  writeManifest,
  writePart,
} from './manifest.ts';

const CONTENT = Buffer.from('the content of a view');
const ID = Buffer.alloc(16, 5);
const PLACE = { id: ID, index: 0 };
const MANIFEST: SnapshotManifest = {
  kind: 'view',
  id: ID,
  keyId: hourKey(7).id,
  epoch: EPOCH,
  seq: 12,
  at: 1_764_000_000_000,
  octets: CONTENT.length,
  partOctets: 58,
  parts: 1,
  sha256: createHash('sha256').update(CONTENT).digest(),
  format: FORMAT,
};

interface Golden {
  readonly manifest: string;
  readonly part: string;
}

describe('manifests and parts of snapshots', () => {
  const part = writePart(CONTENT, PLACE, hourKey(7), countingNonces());
  const manifest = writeManifest(MANIFEST, { ...secrets, random: countingNonces() });

  it('the golden messages of version 2 are read, and the manifest is written octet for octet', () => {
    const path = new URL('../../../test/fixtures/feed/snapshot-v2.json', import.meta.url);
    const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden;
    const bytes = Buffer.from(golden.manifest, 'hex');
    const read = openManifest(bytes, verifier, 'view');
    assert.deepEqual(
      { ...read, keyId: Buffer.from(read.keyId) },
      { ...MANIFEST, keyId: Buffer.from(MANIFEST.keyId) },
    );
    assert.deepEqual(writeManifest(MANIFEST, { ...secrets, random: countingNonces() }), bytes);
    // The part itself depends on the release of zstd.
    const plain = openPart(Buffer.from(golden.part, 'hex'), PLACE, hourKey(7), CONTENT.length);
    assert.deepEqual(Buffer.from(plain), CONTENT);
  });

  it('every changed bit is refused, and nothing else is thrown', () => {
    for (const [bytes, open] of [
      [manifest, (message: Uint8Array) => openManifest(message, verifier, 'view')],
      [part, (message: Uint8Array) => openPart(message, PLACE, hourKey(7), CONTENT.length)],
    ] as const) {
      for (let at = 0; at < bytes.length * 8; at++) {
        const changed = Uint8Array.from(bytes);
        changed[at >> 3]! ^= 1 << (at & 7);
        assert.notEqual(
          reasonOf(() => open(changed)),
          'read',
          `bit ${at}`,
        );
      }
      for (let length = 0; length < bytes.length; length++) {
        assert.notEqual(
          reasonOf(() => open(bytes.subarray(0, length))),
          'read',
          `length ${length}`,
        );
      }
    }
  });

  it('signed fields at random are refused or read, and nothing else is thrown', () => {
    const body = manifest.subarray(0, manifest.length - 64);
    fc.assert(
      fc.property(fc.nat(body.length - 17), fc.uint8Array({ minLength: 1, maxLength: 40 }), (at, octets) => {
        const changed = Buffer.from(body);
        changed.set(octets.subarray(0, body.length - 16 - at), 16 + at);
        reasonOf(() => openManifest(secrets.signer.sign(changed), verifier, 'view'));
      }),
    );
  });

  it('a content is cut into full parts and a rest, whatever pieces it comes in', async () => {
    const size = LIMITS.feedSnapshotPart;
    for (const octets of [0, 1, size, 2 * size + 1]) {
      for (const piece of [1_000_003, size, 65_536]) {
        const lengths: number[] = [];
        for await (const plain of partsIn(inPieces(Buffer.alloc(octets), piece))) lengths.push(plain.length);
        const full = Array.from({ length: Math.floor(octets / size) }, () => size);
        assert.deepEqual(lengths, octets % size === 0 ? full : [...full, octets % size]);
      }
    }
  });

  it('a full part that does not compress fits a message', () => {
    const plain = new Uint8Array(LIMITS.feedSnapshotPart);
    for (let i = 0; i < plain.length; i++) plain[i] = Math.imul(i, 0x9e3779b1) >>> 24;
    assert.ok(writePart(plain, PLACE, hourKey(7), countingNonces()).length < LIMITS.feedMessage);
  });
});
