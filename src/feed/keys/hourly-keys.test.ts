import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { hourKey, nodeKeys, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { reasonOf, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import type { FeedSigner, FeedVerifier } from '../message/keys.ts';
import { type Freshness, openFresh, type Recipient, unsealed, writeMessage } from '../message/message.ts';
import { type HourlyKey, parseHourlyKeys, printHourlyKeys } from './hourly-keys.ts';

interface KeyDelivery {
  readonly node: string;
  readonly at: number;
  readonly keys: readonly HourlyKey[];
}

function writeKeys(
  { node, at, keys }: KeyDelivery,
  recipient: KeyObject,
  signer: FeedSigner,
  answers: Uint8Array | null = null,
): Uint8Array {
  const fields = { kind: 'keys', from: 'control', to: node, at, answers } as const;
  return writeMessage(fields, { ...secrets, signer }, { recipient, plain: printHourlyKeys(keys) });
}

function openKeys(message: Uint8Array, of: FeedVerifier, as: Recipient, fresh: Freshness): KeyDelivery {
  const opened = openFresh(message, 'keys', as.node, of, fresh);
  return { node: opened.to, at: opened.at, keys: parseHourlyKeys(unsealed(opened, as)) };
}

const HOUR_MS = 3_600_000;
const hourly = (hour: number): KeyDelivery['keys'][number] => ({
  key: hourKey(hour),
  from: hour * HOUR_MS,
  until: (hour + 1) * HOUR_MS - 1,
});
const delivery: KeyDelivery = { node: 'fra1', at: 50, keys: [hourly(1), hourly(2)] };
const fra1 = nodeKeys(1);
const own = { node: 'fra1', privateKey: fra1.privateKey };
const message = writeKeys(delivery, fra1.publicKey, secrets.signer);
const opened = (bytes: Uint8Array, as = own, fresh: Freshness = { last: 0 }): string =>
  reasonOf(() => openKeys(bytes, verifier, as, fresh));

describe('the hourly keys of a node', () => {
  it('are read by the node that they were made for', () => {
    const found = openKeys(message, verifier, own, { last: 0 });
    assert.deepEqual([found.node, found.at], ['fra1', 50]);
    assert.deepEqual(
      found.keys.map(({ key, ...time }) => [Buffer.from(key.id), Buffer.from(key.secret), time]),
      delivery.keys.map(({ key, ...time }) => [Buffer.from(key.id), Buffer.from(key.secret), time]),
    );
    const none = writeKeys({ ...delivery, keys: [] }, fra1.publicKey, secrets.signer);
    assert.deepEqual(openKeys(none, verifier, own, { last: 0 }).keys, []);
  });

  it('are refused by every other node', () => {
    const { privateKey } = nodeKeys(2);
    assert.equal(opened(message, { node: 'ams1', privateKey: fra1.privateKey }), 'recipient');
    assert.equal(opened(message, { node: 'fra1', privateKey }), 'decrypt');
  });

  it('are refused when they were sent before those that the node has', () => {
    assert.equal(opened(message, own, { last: 49 }), 'read');
    assert.equal(opened(message, own, { last: 50 }), 'replayed');
  });

  it('answer one question, and are refused as the answer to another and as a message that nobody asked for', () => {
    const [question, other] = [Buffer.alloc(32, 3), Buffer.alloc(32, 4)];
    const answer = writeKeys(delivery, fra1.publicKey, secrets.signer, question);
    assert.equal(opened(answer, own, { question }), 'read');
    assert.equal(opened(answer, own, { question: other }), 'replayed');
    assert.equal(opened(answer, own, { last: 0 }), 'replayed');
    assert.equal(opened(message, own, { question }), 'replayed');
  });

  it('are refused when a stranger signed them, or any bit is changed', () => {
    const strangers = writeKeys(delivery, fra1.publicKey, signingKeys(2).signer);
    assert.equal(opened(strangers), 'signer');
    for (let i = 0; i < message.length; i++) {
      const changed = Buffer.from(message);
      changed[i]! ^= 1 << (i % 8);
      assert.notEqual(opened(changed), 'read', `octet ${i}`);
      assert.notEqual(opened(message.subarray(0, i)), 'read', `${i} octets`);
    }
  });

  it('are at most eight', () => {
    const many = (count: number): KeyDelivery => ({
      ...delivery,
      keys: Array.from({ length: count }, (_, i) => hourly(i)),
    });
    const eight = writeKeys(many(8), fra1.publicKey, secrets.signer);
    assert.equal(openKeys(eight, verifier, own, { last: 0 }).keys.length, 8);
    assert.throws(() => writeKeys(many(9), fra1.publicKey, secrets.signer), RangeError);
  });
});
