import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { countingNonces, nodeKeys, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { EPOCH, reasonOf, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { parseHourlyKeys } from '../keys/hourly-keys.ts';
import { clearOf, type FeedHead, openHeartbeat, readAnswer, writeHead } from './batch.ts';
import { type MessageSigning, openFresh, unsealed, writeMessage } from './message.ts';

const { signer } = secrets;
const head: FeedHead = { epoch: EPOCH, head: 9, oldest: 2, at: 1_000_000 };
const heartbeat = writeHead(head, secrets);
const question = Buffer.alloc(32, 3);
const answer = answerOf(head, question);
const TOLERANCE_MS = 10_000;

/** Control's answer to a question of a node. */
function answerOf(of: FeedHead, answers: Uint8Array, signing: MessageSigning = secrets): Uint8Array {
  const fields = { kind: 'bounds', from: 'control', to: 'fra1', at: of.at, answers } as const;
  return writeMessage({ ...fields, clear: clearOf(of) }, signing);
}

function openAnswer(bytes: Uint8Array, asked: Uint8Array): FeedHead {
  return readAnswer(openFresh(bytes, 'bounds', 'fra1', verifier, { question: asked })).head;
}

const heard = (bytes: Uint8Array, last = 0, now = head.at): string =>
  reasonOf(() => openHeartbeat(bytes, verifier, { last, now }));

describe('the head of the log', () => {
  it('is read from a heartbeat, and from the answer to a question', () => {
    assert.deepEqual(openHeartbeat(heartbeat, verifier, { last: head.at - 1, now: head.at }), head);
    assert.deepEqual(openAnswer(answer, question), head);
    const empty = { epoch: 'e', head: 0, oldest: 1, at: 1 };
    assert.deepEqual(openAnswer(answerOf(empty, question), question), empty);
  });

  it('the golden messages of version 2 are read, and written octet for octet', () => {
    const path = new URL('../../../test/fixtures/feed/messages-v2.json', import.meta.url);
    const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden;
    const bytes = Buffer.from(golden.heartbeat.hex, 'hex');
    const { at } = golden.heartbeat.head;
    const again = { signer, random: countingNonces() };
    assert.deepEqual(openHeartbeat(bytes, verifier, { last: 0, now: at }), golden.heartbeat.head);
    assert.deepEqual(writeHead(golden.heartbeat.head, again), bytes);
    const asked = Buffer.from(golden.answer.question, 'hex');
    const answered = Buffer.from(golden.answer.hex, 'hex');
    assert.deepEqual(openAnswer(answered, asked), golden.answer.head);
    assert.deepEqual(answerOf(golden.answer.head, asked, again), answered);
    const { node, keys } = golden.keys;
    const own = { node, privateKey: nodeKeys(3).privateKey };
    const delivery = openFresh(Buffer.from(golden.keys.hex, 'hex'), 'keys', node, verifier, { last: 0 });
    const secretsOf = parseHourlyKeys(unsealed(delivery, own)).map(({ key, ...rest }) => ({
      ...rest,
      secret: Buffer.from(key.secret).toString('hex'),
    }));
    assert.deepEqual([delivery.at, secretsOf], [golden.keys.at, keys]);
  });

  it('a heartbeat is refused that is not newer than the last one', () => {
    assert.equal(heard(heartbeat, head.at - 1), 'read');
    assert.equal(heard(heartbeat, head.at), 'replayed');
    assert.equal(heard(heartbeat, head.at + 1), 'replayed');
  });

  it('a heartbeat is refused that is too far from the clock, in either direction', () => {
    assert.equal(heard(heartbeat, 0, head.at + TOLERANCE_MS), 'read');
    assert.equal(heard(heartbeat, 0, head.at + TOLERANCE_MS + 1), 'clock');
    assert.equal(heard(heartbeat, 0, head.at - TOLERANCE_MS), 'read');
    assert.equal(heard(heartbeat, 0, head.at - 3_600_000), 'clock');
  });

  it('an answer to another question is refused, and neither passes for the other', () => {
    assert.equal(
      reasonOf(() => openAnswer(answer, Buffer.alloc(32, 4))),
      'replayed',
    );
    assert.equal(
      reasonOf(() => openAnswer(heartbeat, question)),
      'format',
    );
    assert.equal(heard(answer), 'format');
    // A heartbeat that is an answer, or an answer that nobody asked for, is made by no control.
    const fields = { kind: 'head', from: 'control', to: '*', at: head.at, answers: question } as const;
    assert.equal(heard(writeMessage({ ...fields, clear: clearOf(head) }, secrets)), 'replayed');
  });

  it('an answer to another node is refused', () => {
    assert.equal(
      reasonOf(() => openFresh(answer, 'bounds', 'ams1', verifier, { question })),
      'recipient',
    );
  });

  it('is refused with bounds that no log has, signed by a stranger, or with any bit changed', () => {
    assert.equal(heard(writeHead({ ...head, oldest: 0 }, secrets)), 'format');
    assert.equal(heard(writeHead({ ...head, oldest: 11 }, secrets)), 'format');
    const body = heartbeat.subarray(0, heartbeat.length - 64);
    assert.equal(heard(signer.sign(Buffer.concat([body, Buffer.of(0)]))), 'size');
    assert.equal(heard(writeHead(head, { ...secrets, signer: signingKeys(2).signer })), 'signer');
    for (let i = 0; i < heartbeat.length; i++) {
      const changed = Buffer.from(heartbeat);
      changed[i]! ^= 1 << (i % 8);
      assert.notEqual(heard(changed), 'read', `octet ${i}`);
      assert.notEqual(heard(heartbeat.subarray(0, i)), 'read', `${i} octets`);
    }
  });
});

interface Golden {
  readonly heartbeat: { readonly hex: string; readonly head: FeedHead };
  readonly answer: { readonly hex: string; readonly question: string; readonly head: FeedHead };
  readonly keys: {
    readonly hex: string;
    readonly node: string;
    readonly at: number;
    readonly keys: readonly object[];
  };
}
