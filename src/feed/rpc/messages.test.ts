import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countingNonces, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { reasonOf, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { keyOf, NODES, NOW, OTHER_KEY, RING } from '../../../test/support/feed/exchange/nodes.ts';
import { LIMITS } from '../../base/limits.ts';
import { feedKeyRing } from '../message/message.ts';
import {
  ANSWER_STATUSES,
  openReply,
  openRequest,
  REQUEST_KINDS,
  readRequestBody,
  requestHash,
  writeReply,
  writeRequest,
} from './request.ts';

const FIELDS = { kind: 'usage', node: 'node1', at: NOW } as const;
const BODY = ['boot.1', [['018f0000-0000-7000-8000-000000000001', 3_600_000, 7]]];
const own = (more: object = {}) => ({
  signer: NODES.node1.signer,
  key: secrets.key,
  random: countingNonces(),
  ...more,
});
const request = writeRequest(FIELDS, BODY, own());
const read = (message: Uint8Array): unknown => readRequestBody(openRequest(message, keyOf), RING);
const hash = requestHash(request);
const reply = writeReply({ status: 'done', body: { a: 1 } }, hash, { ...secrets, random: countingNonces() });
const open = (message: Uint8Array, to = hash): unknown =>
  openReply(message, verifier, { request: to, ring: RING });

function withOctet(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const changed = Buffer.from(bytes);
  changed[at] = value;
  return changed;
}

describe('a request of a node', () => {
  it('of every kind has its fields and body back', () => {
    for (const kind of REQUEST_KINDS) {
      const opened = openRequest(writeRequest({ ...FIELDS, kind }, BODY, own()), keyOf);
      assert.deepEqual([opened.kind, opened.node, opened.at], [kind, 'node1', NOW]);
      assert.deepEqual(readRequestBody(opened, RING), BODY);
    }
  });

  it('reads the golden messages of version 1, and writes the same fields', () => {
    const path = new URL('../../../test/fixtures/feed/exchange-v1.json', import.meta.url);
    const golden = JSON.parse(readFileSync(path, 'utf8')) as { request: string; reply: string };
    const message = Buffer.from(golden.request, 'hex');
    assert.deepEqual(read(message), BODY);
    assert.deepEqual(
      openReply(Buffer.from(golden.reply, 'hex'), verifier, { request: requestHash(message), ring: RING }),
      {
        status: 'done',
        body: { a: 1 },
      },
    );
    // Behind the nonce come lengths and ciphertext, which depend on the release of zstd.
    const fields = 16 + 6 + 16 + 8 + 16 + 12;
    assert.equal(Buffer.compare(request.subarray(0, fields), message.subarray(0, fields)), 0);
  });

  const strangers = signingKeys(99).signer;
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    ['is empty', () => read(Buffer.alloc(0)), 'size'],
    ['is above the size of a message', () => read(Buffer.alloc(LIMITS.feedMessage + 1)), 'size'],
    ['is another kind of message', () => read(reply), 'format'],
    ['has a later version', () => read(withOctet(request, 4, 2)), 'version'],
    [
      'names a node that is unknown',
      () => read(writeRequest({ ...FIELDS, node: 'ghost' }, BODY, own())),
      'signer',
    ],
    ['names another node', () => read(writeRequest({ ...FIELDS, node: 'node2' }, BODY, own())), 'signer'],
    ['is signed by a stranger', () => read(writeRequest(FIELDS, BODY, own({ signer: strangers }))), 'signer'],
    [
      'has a kind that is unknown',
      () => read(NODES.node1.signer.sign(withOctet(unsigned(request), 5, 200))),
      'format',
    ],
    ['is of another shard', () => read(NODES.node1.signer.sign(withOctet(unsigned(request), 7, 1))), 'shard'],
    ['has no body', () => read(NODES.node1.signer.sign(request.subarray(0, 16 + 6 + 16 + 8))), 'format'],
    [
      'is under a key that is gone',
      () => readRequestBody(openRequest(request, keyOf), feedKeyRing([])),
      'key',
    ],
    [
      'is under another key than it names',
      () => read(writeRequest(FIELDS, BODY, own({ key: { ...OTHER_KEY, id: secrets.key.id } }))),
      'decrypt',
    ],
  ];
  for (const [name, run, reason] of cases)
    it(`is refused when it ${name}`, () => assert.equal(reasonOf(run), reason));

  it('is refused with any bit changed, or cut anywhere', () => {
    for (const [message, reader] of [
      [request, read],
      [reply, open],
    ] as const) {
      for (let i = 0; i < message.length; i++) {
        assert.notEqual(
          reasonOf(() => reader(message.subarray(0, i))),
          'read',
          `${i} octets`,
        );
        const changed = withOctet(message, i, message[i]! ^ (1 << (i % 8)));
        assert.notEqual(
          reasonOf(() => reader(changed)),
          'read',
          `octet ${i}`,
        );
      }
    }
  });

  it('with any signed fields: the readers throw nothing but refusals', () => {
    for (const [message, signer, reader] of [
      [request, NODES.node1.signer, read],
      [reply, secrets.signer, open],
    ] as const) {
      const size = unsigned(message).length - 8;
      fc.assert(
        fc.property(fc.array(fc.tuple(fc.nat(size - 1), fc.nat(255)), { minLength: 1 }), (changes) => {
          let body = unsigned(message);
          // The octets of the signer stay, else nothing behind them is read.
          for (const [at, value] of changes) body = withOctet(body, at < 8 ? at : at + 8, value);
          reasonOf(() => reader(signer.sign(body)));
        }),
        { numRuns: 300 },
      );
    }
  });

  it('has a body of at most the octets of a batch', () => {
    const largest = 'x'.repeat(LIMITS.feedBatchOctets - 2);
    assert.equal(read(writeRequest(FIELDS, largest, own())), largest);
    assert.throws(() => writeRequest(FIELDS, `${largest}x`, own()), RangeError);
  });
});

function unsigned(message: Uint8Array): Uint8Array {
  return message.subarray(0, message.length - 64);
}

describe('an answer of control', () => {
  it('has its status and body back, also without one', () => {
    for (const status of ANSWER_STATUSES) {
      for (const body of [null, 'field', { a: [1] }]) {
        assert.deepEqual(open(writeReply({ status, body }, hash, secrets)), { status, body });
      }
    }
  });

  it('to another request is refused, to the same question too', () => {
    const again = requestHash(writeRequest(FIELDS, BODY, own({ random: () => Buffer.alloc(16, 3) })));
    assert.equal(
      reasonOf(() => open(reply, again)),
      'replayed',
    );
    assert.equal(
      reasonOf(() => open(reply)),
      'read',
    );
  });

  it('of a stranger, or of another kind, is refused', () => {
    const stranger = { ...secrets, signer: signingKeys(2).signer };
    assert.equal(
      reasonOf(() => open(writeReply({ status: 'done', body: null }, hash, stranger))),
      'signer',
    );
    assert.equal(
      reasonOf(() => open(request)),
      'format',
    );
  });
});
