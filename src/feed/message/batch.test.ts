import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { countingNonces, hourKey, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import {
  header,
  reasonOf,
  revocations,
  secrets,
  verifier,
} from '../../../test/support/feed/batch/messages.ts';
import { arbitraryChange } from '../../../test/support/protocol/changes/arbitrary-changes.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import { NO_HASH, openBatch, type PackedRows, packRows, readRows, writeBatch } from './batch.ts';
import { feedKeyRing, feedVerifier } from './keys.ts';
import { messageHash } from './message.ts';

const ring = feedKeyRing([secrets.key]);
const none = feedKeyRing([]);

/** Messages of the changes, each with the hash of the one before. */
function messagesOf(changes: readonly Change[]): Uint8Array[] {
  let previous = NO_HASH;
  return packRows(changes).map((rows) => {
    const message = writeBatch(header({ previous }), rows, secrets);
    previous = messageHash(message);
    return message;
  });
}

const message = messagesOf(revocations(5, 7))[0]!;
const open = (bytes: Uint8Array): Change[] => readRows(openBatch(bytes, verifier), ring);

/** A batch that a holder of the signing key made, with rows that no `packRows` would make. */
function forged(rows: Partial<PackedRows>): Uint8Array {
  const [packed] = packRows(revocations(5, 7));
  return writeBatch(header(), { ...packed!, ...rows }, secrets);
}

function packedText(text: string, plainLength = Buffer.byteLength(text)): Partial<PackedRows> {
  return { compressed: zstdCompressSync(text), plainLength };
}

describe('a batch of the feed', () => {
  it('gives back every change, in batches that follow one another', () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryChange, { minLength: 1, maxLength: 50 }),
        fc.nat(1e6),
        (bodies, first) => {
          const changes = bodies.map((change, i) => ({ ...change, seq: first + 1 + i }));
          let previous = NO_HASH;
          const read: Change[] = [];
          for (const bytes of messagesOf(changes)) {
            const batch = openBatch(bytes, verifier);
            assert.equal(Buffer.compare(batch.previous, previous), 0);
            assert.equal(batch.from, first + 1 + read.length);
            previous = batch.hash;
            read.push(...readRows(batch, ring));
          }
          assert.deepEqual(read, changes);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('has every field of the header back', () => {
    const head = header({
      streamSeq: 9,
      at: 1234,
      previous: Buffer.alloc(32, 5),
    });
    const [rows] = packRows(revocations(5, 7));
    const batch = openBatch(writeBatch(head, rows!, secrets), verifier);
    assert.partialDeepStrictEqual(batch, { ...head, from: 5, to: 7 });
  });

  it('reads the golden message of version 2, and writes the same header', () => {
    const path = new URL('../../../test/fixtures/feed/batch-v2.json', import.meta.url);
    const golden = JSON.parse(readFileSync(path, 'utf8')) as { hex: string; changes: Change[] };
    const bytes = Buffer.from(golden.hex, 'hex');
    const batch = openBatch(bytes, verifier);
    assert.deepEqual(readRows(batch, ring), golden.changes);
    // The rows themselves depend on the release of zstd.
    const [rows] = packRows(golden.changes);
    const again = { ...secrets, random: countingNonces() };
    const { associated } = openBatch(writeBatch(batch, rows!, again), verifier).message;
    assert.deepEqual(associated, batch.message.associated);
  });

  it('is divided at the number of changes and at their octets, and fits a message', () => {
    const sizes = (changes: readonly Change[]): number[] =>
      packRows(changes).map(({ from, to }) => to - from + 1);
    const max = LIMITS.feedBatchChanges;
    assert.deepEqual(sizes(revocations(1, max)), [max]);
    assert.deepEqual(sizes(revocations(1, max + 1)), [max, 1]);
    const large = revocations(1, 400).map(({ seq }) => largestRecord(seq));
    const parts = packRows(large);
    assert.ok(parts.length > 1);
    assert.ok(parts.every(({ plainLength }) => plainLength <= LIMITS.feedBatchOctets));
    assert.ok(parts[0]!.plainLength > LIMITS.feedBatchOctets - 5_000, 'batches are filled');
    assert.deepEqual(messagesOf(large).flatMap(open), large);
    // Rows of the same length, and room for two and no octet more.
    const [two] = packRows(revocations(1, 2));
    assert.deepEqual(
      packRows(revocations(1, 6), two!.plainLength).map(({ from, to }) => [from, to]),
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    );
  });

  it('for the stream is shorter, so that 512 of them are less than the 64 MiB that a broker keeps for one connection', () => {
    const large = revocations(1, 100).map(({ seq }) => largestRecord(seq));
    const parts = packRows(large, LIMITS.feedStreamOctets);
    assert.ok(parts.every(({ plainLength }) => plainLength <= LIMITS.feedStreamOctets));
    assert.ok(parts[0]!.plainLength > LIMITS.feedStreamOctets - 5_000, 'batches are filled');
    const longest = Math.max(...parts.map((rows) => writeBatch(header(), rows, secrets).length));
    // Their content does not compress. A header of the broker is below 200 octets.
    assert.ok(512 * (longest + 200) < 64 * 2 ** 20, `${longest}`);
    const one = packRows([largestRecord(1)], 1);
    assert.equal(one.length, 1, 'one change alone may be longer');
  });
});

/** A record whose payload does not compress. */
function largestRecord(seq: number): Change {
  const random = (i: number): number => Math.imul(seq * 4096 + i, 0x9e3779b1) >>> 24;
  const data = Buffer.from(Array.from({ length: LIMITS.recordData }, (_, i) => random(i))).toString('base64');
  const labels = { resource: 'doc', namespace: 'acme', version: 'v1' };
  const rest = { contentType: 'text/plain', ttlSeconds: 300, expiresAt: null };
  const fixed = { seq, at: 1_000, owner: 'customer', cause: 'direct' } as const;
  return { ...fixed, type: 'record.upserted', key: `k${seq}.doc.acme.v1`, ...labels, data, ...rest };
}

describe('a batch is refused', () => {
  const strangers = signingKeys(2);
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    ['empty', () => open(Buffer.alloc(0)), 'size'],
    ['above the size of a message', () => open(Buffer.alloc(LIMITS.feedMessage + 1)), 'size'],
    ['another kind of message', () => open(withOctet(message, 3, 'H'.charCodeAt(0))), 'format'],
    ['a later version', () => open(withOctet(message, 4, 3)), 'version'],
    ['a message of another kind', () => open(withOctet(message, 5, 1)), 'format'],
    ['with octets behind it', () => open(Buffer.concat([message, Buffer.of(0)])), 'signature'],
    ['of an unknown signer', () => openBatch(message, feedVerifier([strangers.publicKey])), 'signer'],
    [
      'signed by another key than it names',
      () => open(strangers.signer.sign(message.subarray(0, message.length - 64))),
      'signature',
    ],
    ['under a key that the node does not have', () => readRows(openBatch(message, verifier), none), 'key'],
    [
      'under another key than it names',
      () => open(writeWith({ key: { ...hourKey(8), id: secrets.key.id } })),
      'decrypt',
    ],
    ['rows that do not decompress', () => open(forged({ compressed: Buffer.from('no zstd') })), 'decompress'],
    ['rows shorter than stated', () => open(forged(packedText('[]', 3))), 'decompress'],
    ['rows longer than stated', () => open(forged(packedText('[{}]', 3))), 'decompress'],
    ['rows that are no JSON', () => open(forged(packedText('[{'))), 'rows'],
    ['rows that are no list', () => open(forged(packedText('{}'))), 'rows'],
    ['a row that is null', () => open(forged(packedText('[null,null,null]'))), 'rows'],
    ['a row that is no change', () => open(forged(packedText('[{},{},{}]'))), 'rows'],
    ['fewer rows than stated', () => open(forged({ to: 8 })), 'rows'],
    ['more rows than stated', () => open(forged({ to: 6 })), 'rows'],
    ['from 0', () => open(forged({ from: 0, to: 2 })), 'format'],
    ['to before from', () => open(forged({ to: 4 })), 'format'],
    ['more changes than a batch has', () => open(forged({ to: 5 + LIMITS.feedBatchChanges })), 'size'],
    [
      'a length of rows above the bound',
      () => open(forged({ plainLength: LIMITS.feedBatchOctets + 1 })),
      'size',
    ],
  ];
  for (const [name, read, reason] of cases) it(name, () => assert.equal(reasonOf(read), reason));

  function writeWith(more: Partial<typeof secrets>): Uint8Array {
    return writeBatch(header(), packRows(revocations(5, 7))[0]!, { ...secrets, ...more });
  }

  it('with two keys during a rotation it is read, whichever signed', () => {
    const both = feedVerifier([strangers.publicKey, signingKeys(1).publicKey]);
    const later = writeWith({ signer: strangers.signer });
    assert.equal(openBatch(message, both).from, 5);
    assert.equal(openBatch(later, both).from, 5);
  });

  it('with any bit changed, or cut anywhere', () => {
    for (let i = 0; i < message.length; i++) {
      assert.notEqual(
        reasonOf(() => open(message.subarray(0, i))),
        'read',
        `${i} octets`,
      );
      const changed = withOctet(message, i, message[i]! ^ (1 << (i % 8)));
      assert.notEqual(
        reasonOf(() => open(changed)),
        'read',
        `octet ${i}`,
      );
    }
  });

  it('with any signed fields: a reader throws nothing but a refusal', () => {
    const size = message.length - 64 - 8;
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(size), fc.nat(255)), { minLength: 1 }), (changes) => {
        let body: Uint8Array = message.subarray(0, message.length - 64);
        // The octets of the signer stay, else nothing behind them is read.
        for (const [at, value] of changes) body = withOctet(body, at < 8 ? at : at + 8, value);
        reasonOf(() => open(secrets.signer.sign(body)));
      }),
      { numRuns: 300 },
    );
  });

  it('a bomb takes no more memory than the header may state', () => {
    const bomb = zstdCompressSync(Buffer.alloc(256 * 1024 * 1024));
    assert.ok(bomb.length < LIMITS.feedMessage);
    const bytes = forged({ compressed: bomb, plainLength: LIMITS.feedBatchOctets });
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 4; i++)
      assert.equal(
        reasonOf(() => open(bytes)),
        'decompress',
      );
    assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024);
  });
});

function withOctet(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const changed = Buffer.from(bytes);
  changed[at] = value;
  return changed;
}
