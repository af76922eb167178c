import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DNS_LIMITS, query, setting, until } from '../../../test/support/dns/fakes.ts';
import { fakeUdpAddon } from '../../../test/support/dns/udp/fake-udp-addon.ts';
import { LIMITS } from '../../base/limits.ts';
import { MISSES_A_TURN } from '../shared/handler.ts';
import { createRateMemory, makeRateLimits } from '../shared/rate-limit.ts';
import { listenUdpBatch } from './batch-listener.ts';

const many = (count: number, label: string): Buffer[] =>
  Array.from({ length: count }, (_, i) => query(i, `${label}${i}`));

/** A tick in which misses are worked off. */
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a batch of misses and one hit: the hit has left before the handler works for any of them', async () => {
  const options = setting();
  const fake = fakeUdpAddon();
  const listener = await listenUdpBatch(options, fake.addon);
  fake.receive([...many(63, 'echo'), query(99, 'hot')]);
  assert.deepEqual([fake.left, options.handler.asked], [[['hot']], ['hot']]);
  await tick();
  assert.equal(options.handler.asked.length, 1 + MISSES_A_TURN);
  assert.equal(fake.left[1]?.length, MISSES_A_TURN, 'replies of one tick leave with one system call');
  // The socket is read between two ticks: this hit does not wait for the 47 misses before it.
  fake.receive([query(99, 'hot')]);
  assert.deepEqual(fake.left[2], ['hot']);
  await until(() => fake.left.flat().length === 65);
  assert.deepEqual(
    fake.left.flat().filter((label) => label.startsWith('echo')),
    Array.from({ length: 63 }, (_, i) => `echo${i}`),
    'the oldest first',
  );
  await listener.close(60_000);
});

test('when the queue of misses is full, hits are answered all the same, and what is lost is counted', async () => {
  const options = setting();
  const fake = fakeUdpAddon();
  const listener = await listenUdpBatch(options, fake.addon);
  for (let i = 0; i < LIMITS.udpMisses / 64; i++) fake.receive(many(64, 'echo'));
  assert.equal(options.observe.count('miss dropped'), 0);
  fake.receive([query(1, 'echo'), query(2, 'hot')]);
  assert.equal(options.observe.count('miss dropped'), 1);
  assert.deepEqual(fake.left, [['hot']]);
  await listener.close(60_000);
  assert.equal(fake.left.flat().length, LIMITS.udpMisses + 1, 'closing answers what waits');
});

test('200 queries of a source in one burst are worked for, and no more, though none was counted when they came', async () => {
  const options = setting();
  const fake = fakeUdpAddon();
  const limiter = makeRateLimits({ ...DNS_LIMITS, memory: createRateMemory(), clock: () => 1e12 }).udp;
  const listener = await listenUdpBatch({ ...options, limiter }, fake.addon);
  for (let i = 0; i < 10; i++) fake.receive(many(64, 'echo'));
  fake.receive([query(1, 'echo')], 2);
  await listener.close(60_000);
  assert.equal(options.handler.asked.length, 200);
  assert.equal(options.observe.count('dropped') + options.observe.count('slipped'), 441);
});

test('memory that was detached ends the thread, which is then replaced', async () => {
  const fake = fakeUdpAddon();
  let onBatch: (count: number, isBelow: number) => void = () => {};
  const open: typeof fake.addon.open = (host, port, reusePort, callback) => {
    onBatch = callback;
    return fake.addon.open(host, port, reusePort, callback);
  };
  const listener = await listenUdpBatch(setting(), { ...fake.addon, open });
  assert.throws(() => onBatch(-1, 0), /detached/);
  await listener.close(0);
});
