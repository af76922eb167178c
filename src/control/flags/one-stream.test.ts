import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify from 'fastify';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import { epochTag, openPositions } from '../unit.ts';
import type { FlagSource } from './source.ts';
import { openFlagStreams } from './streams.ts';

it('the credential of a stream is checked each second, and no more once its client has gone', async () => {
  let checks = 0;
  const stream = await openStream({ onCheck: () => checks++ });
  await stream.timers.advance(3_000);
  assert.equal(checks, 4, 'once at its start');
  await stream.leave();
  await stream.timers.advance(3_000);
  assert.equal(checks, 4);
  await stream.close();
});

it('a stream gives no place while an event from before it is still to come', async () => {
  let isSettled = false;
  const stream = await openStream({ isSettled: () => isSettled });
  await stream.timers.advance(HEARTBEATS_MS);
  assert.doesNotMatch(stream.text(), /checkpoint|id: /);
  isSettled = true;
  await stream.timers.advance(HEARTBEATS_MS);
  while (!stream.text().includes('checkpoint')) await nextTurn();
  await stream.leave();
  await stream.close();
});

it('a stream ends when the log is another one: after a failover its client may have flags that are gone', async () => {
  let epoch = 'e';
  const stream = await openStream({ epoch: () => epoch });
  await stream.timers.advance(HEARTBEATS_MS);
  assert.equal(stream.hasEnded(), false);
  epoch = 'f';
  await stream.timers.advance(1_000);
  while (!stream.hasEnded()) await nextTurn();
  await stream.close();
});

it('a stream hears nothing of another namespace that has taken the name', async () => {
  const stream = await openStream({});
  await stream.timers.advance(HEARTBEATS_MS);
  stream.change('next');
  await stream.timers.advance(HEARTBEATS_MS);
  stream.change('n');
  while (!stream.text().includes('"etag":"n')) await nextTurn();
  const told = stream.text().matchAll(/"etag":"(\w+)"/g);
  assert.deepEqual(
    [...told].map(([, etag]) => etag),
    ['n'],
  );
  await stream.leave();
  await stream.close();
});

it('an event that waited while the log became another one has a place of its own log (failover)', async () => {
  let epoch = 'e';
  const stream = await openStream({ epoch: () => epoch });
  await stream.timers.advance(1_100);
  stream.change('n');
  await stream.timers.advance(100);
  stream.change('n');
  await stream.timers.advance(850);
  // After the look of this second, and before the next one cuts the stream off.
  epoch = 'f';
  await stream.timers.advance(100);
  while (stream.places().length < 3) await nextTurn();
  const told = stream.places().slice(1);
  assert.deepEqual(told, Array(2).fill({ seq: 2, epoch: epochTag('e') }));
  await stream.leave();
  await stream.close();
});

/** Time for some heartbeats of a stream. */
const HEARTBEATS_MS = 60_000;

/** A stream of one namespace, over HTTP. `change` tells a change of the namespace with an id, whose name is the same. */
async function openStream({ isSettled = () => true, onCheck = () => {}, epoch = () => 'e' }) {
  const timers = createManualTimers();
  const namespace = { id: 'n', name: 'shop', customerId: 'c', isOpen: false, isSuspended: false };
  let tell: Parameters<FlagSource['onChange']>[0] = () => {};
  const held = { changedAt: () => 0, isSettled, tag: () => '', release() {} };
  const positions = openPositions(aesGcmEncryption(Buffer.alloc(32), (octets) => Buffer.alloc(octets), 0));
  const streams = openFlagStreams({
    source: {
      hold: async () => held,
      onChange(listener) {
        tell = listener;
        return () => {};
      },
    },
    store: { onWork: () => () => {} },
    changeReader: { epoch, place: () => 1 },
    positions,
    clock: () => timers.now,
    timers,
    onError: assert.ifError,
  });
  let gone: Promise<unknown> = Promise.resolve();
  let hasEnded = false;
  const app = fastify();
  app.decorateRequest('addressKey', () => 'a');
  app.decorateRequest('siteKey', () => null);
  app.get('/', (request, reply) => {
    gone = once(reply.raw, 'close');
    const renew = async () => {
      onCheck();
      return true;
    };
    return streams.open({ request, reply, namespace, renew });
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = new AbortController();
  const { body } = await fetch(url, { signal: client.signal });
  const parts: string[] = [];
  const reading = body!
    .pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: (part) => void parts.push(part) }))
    .catch(() => {})
    .finally(() => {
      hasEnded = true;
    });
  return {
    timers,
    hasEnded: () => hasEnded,
    text: () => parts.join(''),
    change: (id: string): void =>
      tell({ namespace: { ...namespace, id }, seq: 2, epoch: epoch(), at: 0, tag: () => id }),
    /** Of all ids. */
    places: () =>
      [...parts.join('').matchAll(/^id: (.*)$/gm)].map(([, id]) => {
        const { seq, epoch: tag } = positions.read('c', id!)!;
        return { seq, epoch: tag };
      }),
    async leave() {
      client.abort();
      await Promise.all([gone, reading]);
    },
    async close() {
      await streams.close();
      await app.close();
    },
  };
}
