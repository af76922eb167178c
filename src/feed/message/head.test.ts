import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { nodeKeys, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { EPOCH, reasonOf, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { openKeys } from '../keys/hourly-keys.ts';
import { type FeedHead, openAnswer, openHeartbeat, writeHead } from './head.ts';

const { signer } = secrets;
const head: FeedHead = { epoch: EPOCH, head: 9, oldest: 2, at: 1_000_000 };
const heartbeat = writeHead(head, signer);
const question = Buffer.alloc(16, 3);
const answer = writeHead(head, signer, question);
const TOLERANCE_MS = 10_000;

const heard = (bytes: Uint8Array, last = 0, now = head.at): string =>
  reasonOf(() => openHeartbeat(bytes, verifier, { last, now }));

describe('the head of the log', () => {
  it('is read from a heartbeat, and from the answer to a question', () => {
    assert.deepEqual(openHeartbeat(heartbeat, verifier, { last: head.at - 1, now: head.at }), head);
    assert.deepEqual(openAnswer(answer, verifier, question), head);
    const empty = { epoch: 'e', head: 0, oldest: 1, at: 1 };
    assert.deepEqual(openAnswer(writeHead(empty, signer, question), verifier, question), empty);
  });

  it('the golden messages of version 1 are read, and written octet for octet', () => {
    const path = new URL('../../../test/fixtures/feed/messages-v1.json', import.meta.url);
    const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden;
    const bytes = Buffer.from(golden.heartbeat.hex, 'hex');
    const { at } = golden.heartbeat.head;
    assert.deepEqual(openHeartbeat(bytes, verifier, { last: 0, now: at }), golden.heartbeat.head);
    assert.deepEqual(writeHead(golden.heartbeat.head, signer), bytes);
    const asked = Buffer.from(golden.answer.question, 'hex');
    assert.deepEqual(openAnswer(Buffer.from(golden.answer.hex, 'hex'), verifier, asked), golden.answer.head);
    const { node, keys } = golden.keys;
    const own = { node, privateKey: nodeKeys(3).privateKey };
    const delivery = openKeys(Buffer.from(golden.keys.hex, 'hex'), verifier, own, { last: 0 });
    const secretsOf = delivery.keys.map(({ key, ...rest }) => ({
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
      reasonOf(() => openAnswer(answer, verifier, Buffer.alloc(16, 4))),
      'replayed',
    );
    assert.equal(
      reasonOf(() => openAnswer(heartbeat, verifier, question)),
      'replayed',
    );
    assert.equal(heard(answer), 'replayed');
  });

  it('is refused with bounds that no log has, of another shard, signed by a stranger, or with any bit changed', () => {
    assert.equal(heard(writeHead({ ...head, oldest: 0 }, signer)), 'format');
    assert.equal(heard(writeHead({ ...head, oldest: 11 }, signer)), 'format');
    const body = heartbeat.subarray(0, heartbeat.length - 64);
    const sharded = Buffer.from(body);
    sharded[7] = 1;
    assert.equal(heard(signer.sign(sharded)), 'shard');
    assert.equal(heard(signer.sign(Buffer.concat([body, Buffer.of(0)]))), 'size');
    assert.equal(heard(writeHead(head, signingKeys(2).signer)), 'signer');
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
