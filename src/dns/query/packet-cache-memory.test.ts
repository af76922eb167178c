import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { query, store, tagOf, VALID } from '../../../test/support/dns/query/stored-replies.ts';
import { PacketCache } from './packet-cache.ts';

/** Octets of the rows of 64 entries, with their tags. */
const ROWS_OF_64 = 64 * (68 + 168);
const out = Buffer.alloc(4096);
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
const hit = (cache: PacketCache, packet: Uint8Array, now = 0): boolean =>
  cache.lookup(packet, packet.length, true, out, now) > 0;

test('memory is bounded by octets and entries, and a flood spares what is asked again', () => {
  // Room for about 50 replies beside the rows of its 64 entries.
  const cache = new PacketCache(() => 0, { entries: 64, octets: ROWS_OF_64 + 15_000 });
  const hot = query({ name: 'get.hot.b.v1.uqrp.net' });
  store(cache, hot);
  let lost = 0;
  for (let i = 0; i < 2000; i++) {
    store(cache, query({ name: `get.u${i}.b.v1.uqrp.net` }), 200);
    if (!hit(cache, hot)) {
      lost++;
      store(cache, hot);
    }
    assert.ok(cache.size <= 15_000);
  }
  assert.equal(lost, 0);
  store(cache, query({ name: 'get.big.b.v1.uqrp.net' }), 15_000);
  assert.ok(!hit(cache, query({ name: 'get.big.b.v1.uqrp.net' })) && hit(cache, hot));
});

test('octets bound rows, tags and replies together: what a full cache holds (the soak of November 2026)', () => {
  const entries = 16_384;
  const octets = entries * 500;
  const held = (): number => {
    gc();
    gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = held();
  const cache = new PacketCache(() => 0, { entries, octets });
  for (let i = 0; i < 2 * entries; i++) {
    store(cache, query({ name: `get.u${i}.b.v1.uqrp.net` }), 400, VALID, tagOf(i));
  }
  const grown = held() - before;
  assert.ok(cache.size > octets * 0.4, `${cache.size} octets of replies`);
  // Beside the limit: the table of first sights.
  assert.ok(grown < octets + 500_000, `${grown} octets are held, ${octets} allowed`);
});

test('10,000 names are all but 0.2 % hits after two passes, in whatever order they take turns', () => {
  const cache = new PacketCache(() => 0);
  const names = Array.from({ length: 10_000 }, (_, i) => query({ name: `get.r${i}.bench.v1.uqrp.net` }));
  // The first pass of `store` notes the names, the second stores them.
  for (const asked of names) store(cache, asked);
  const hits = names.filter((asked) => hit(cache, asked)).length;
  assert.ok(hits >= 9_980, `${hits} hits`);
});

test('a question has one entry, also after an entry before it in its bucket is gone', () => {
  const cache = new PacketCache(() => 0, { entries: 4, octets: 65_536 });
  const [first, second] = [query({ name: 'get.1.b.v1.uqrp.net' }), query({ name: 'get.2.b.v1.uqrp.net' })];
  store(cache, first, 10, { ...VALID, until: 10 });
  store(cache, second);
  assert.equal(hit(cache, first, 10), false);
  const { size } = cache;
  store(cache, second);
  assert.equal(cache.size, size);
});
