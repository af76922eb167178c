import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countingNonces, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { reasonOf, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { keyOf, NODES, NOW, OTHER_KEY, RING } from '../../../test/support/feed/exchange/nodes.ts';
import { LIMITS } from '../../base/limits.ts';
import { feedKeyRing } from './keys.ts';
import {
  ANSWER_STATUSES,
  jsonUnderKey,
  MESSAGE_KINDS,
  messageHash,
  openFresh,
  openMessage,
  packJson,
  writeMessage,
} from './message.ts';
import { openQuestion } from './rpc.ts';

const FIELDS = { kind: 'usage', from: 'node1', to: 'control', at: NOW } as const;
const BODY = ['boot.1', [['018f0000-0000-7000-8000-000000000001', 3_600_000, 7]]];
const own = (more: object = {}) => ({
  signer: NODES.node1.signer,
  key: secrets.key,
  random: countingNonces(),
  ...more,
});
const writeRequest = (
  fields: Parameters<typeof writeMessage>[0],
  body: unknown,
  { key, ...signing } = own(),
) => writeMessage(fields, signing, { key, packed: packJson(body) });
const request = writeRequest(FIELDS, BODY);
const openRequest = (message: Uint8Array) => openQuestion({ verifierOf: keyOf }, ['usage'], message);
const read = (message: Uint8Array): unknown => jsonUnderKey(openRequest(message), RING);
const hash = messageHash(request);
const ANSWER = { kind: 'usage', from: 'control', to: 'node1', at: NOW, answers: hash } as const;
const writeReply = (body: unknown, signing = secrets) =>
  writeMessage(ANSWER, signing, { key: secrets.key, packed: packJson(body) });
const reply = writeReply({ a: 1 }, { ...secrets, random: countingNonces() });
const open = (message: Uint8Array, question = hash): unknown =>
  jsonUnderKey(openFresh(message, 'usage', 'node1', verifier, { question }), RING);

function withOctet(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const changed = Buffer.from(bytes);
  changed[at] = value;
  return changed;
}

describe('a request of a node', () => {
  it('of every kind has its fields and body back', () => {
    for (const kind of MESSAGE_KINDS) {
      const opened = openMessage(writeRequest({ ...FIELDS, kind }, BODY), [kind], 'control', keyOf);
      assert.deepEqual([opened.kind, opened.from, opened.at, opened.answers], [kind, 'node1', NOW, null]);
      assert.deepEqual(jsonUnderKey(opened, RING), BODY);
    }
  });

  it('reads the golden messages of version 2, and writes the same fields', () => {
    const path = new URL('../../../test/fixtures/feed/exchange-v2.json', import.meta.url);
    const golden = JSON.parse(readFileSync(path, 'utf8')) as { request: string; reply: string };
    const message = Buffer.from(golden.request, 'hex');
    assert.deepEqual(read(message), BODY);
    assert.deepEqual(open(Buffer.from(golden.reply, 'hex'), messageHash(message)), { a: 1 });
    // The body itself depends on the release of zstd.
    assert.deepEqual(openRequest(request).associated, openRequest(message).associated);
  });

  const strangers = signingKeys(99).signer;
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    ['is empty', () => read(Buffer.alloc(0)), 'size'],
    ['is above the size of a message', () => read(Buffer.alloc(LIMITS.feedMessage + 1)), 'size'],
    ['is another kind of message', () => read(writeRequest({ ...FIELDS, kind: 'rows' }, BODY)), 'format'],
    ['is an answer', () => read(writeRequest({ ...FIELDS, answers: hash }, BODY)), 'format'],
    ['is for somebody else', () => read(writeRequest({ ...FIELDS, to: 'node2' }, BODY)), 'recipient'],
    ['has a later version', () => read(withOctet(request, 4, 3)), 'version'],
    ['names a node that is unknown', () => read(writeRequest({ ...FIELDS, from: 'ghost' }, BODY)), 'signer'],
    ['names another node', () => read(writeRequest({ ...FIELDS, from: 'node2' }, BODY)), 'signer'],
    ['is signed by a stranger', () => read(writeRequest(FIELDS, BODY, own({ signer: strangers }))), 'signer'],
    [
      'has a kind that is unknown',
      () => read(NODES.node1.signer.sign(withOctet(unsigned(request), 5, 200))),
      'format',
    ],
    [
      'has a status that is unknown',
      () => read(NODES.node1.signer.sign(withOctet(unsigned(request), 7, 4))),
      'format',
    ],
    [
      'has flags that are unknown',
      () => read(NODES.node1.signer.sign(withOctet(unsigned(request), 6, 10))),
      'format',
    ],
    ['has no body', () => read(writeMessage(FIELDS, own())), 'format'],
    ['is under a key that is gone', () => jsonUnderKey(openRequest(request), feedKeyRing([])), 'key'],
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
    assert.equal(read(writeRequest(FIELDS, largest)), largest);
    assert.throws(() => writeRequest(FIELDS, `${largest}x`), RangeError);
  });
});

function unsigned(message: Uint8Array): Uint8Array {
  return message.subarray(0, message.length - 64);
}

describe('an answer of control', () => {
  it('has its status and body back, also without one', () => {
    for (const status of ANSWER_STATUSES) {
      const opened = openFresh(writeMessage({ ...ANSWER, status }, secrets), 'usage', 'node1', verifier, {
        question: hash,
      });
      assert.deepEqual([opened.status, opened.body], [status, null]);
      for (const body of ['field', { a: [1] }]) assert.deepEqual(open(writeReply(body)), body);
    }
  });

  it('to another request is refused, to the same question too', () => {
    const again = messageHash(writeRequest(FIELDS, BODY, own({ random: () => Buffer.alloc(12, 3) })));
    assert.equal(
      reasonOf(() => open(reply, again)),
      'replayed',
    );
    assert.equal(
      reasonOf(() => open(reply)),
      'read',
    );
  });

  it('of a stranger, of a node, or of another kind, is refused', () => {
    const stranger = { ...secrets, signer: signingKeys(2).signer };
    assert.equal(
      reasonOf(() => open(writeReply({}, stranger))),
      'signer',
    );
    assert.equal(
      reasonOf(() => open(request)),
      'signer',
    );
    assert.equal(
      reasonOf(() => open(writeMessage({ ...ANSWER, kind: 'rows' }, secrets))),
      'format',
    );
  });
});
