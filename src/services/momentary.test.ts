import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  keysMadeAt,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../test/support/dns/query/signed-node.ts';
import { allServices } from '../../test/support/services/all-services.ts';
import { publish } from '../dns/schema/publish.ts';

const clock = { now: START };
const services = publish(allServices());
const { handler } = signedNode({ zones: zoneOf(keysMadeAt(START), clock) }, clock, [...services.values()]);

/** The record of a reply over the wire, and whether the packet cache had it. */
function ask(name: string, dnssecOk: boolean): { text: string; ttl: number; isCached: boolean } {
  const packet = queryOf(`${name}.uqrp.net`, { dnssecOk });
  const out = Buffer.alloc(4096);
  const octets = handler.hot(packet, packet.length, 'tcp', out);
  const reply = octets > 0 ? new Uint8Array(out.subarray(0, octets)) : handler.slow(packet, 'tcp', true);
  assert.ok(reply instanceof Uint8Array);
  const [record] = messageOf(reply).answer;
  assert.ok(record !== undefined, name);
  return { text: Buffer.from(record.rdata).toString('latin1', 1), ttl: record.ttl, isCached: octets > 0 };
}

test('answers of chance and of the clock are made for each query, and signed, past the packet cache', () => {
  for (const name of [
    'get.uuid.public.v1',
    'get.v7.uuid.public.v1',
    'get.n999999999999-to-999999999999.random.public.v1',
    'get.50d1000.dice.public.v1',
    'get.100.coin.public.v1',
  ]) {
    for (const dnssecOk of [false, true]) {
      const asked = Array.from({ length: 5 }, () => ask(name, dnssecOk));
      assert.deepEqual(
        asked.map(({ ttl, isCached }) => [ttl, isCached]),
        asked.map(() => [0, false]),
      );
      assert.equal(new Set(asked.map(({ text }) => text)).size, asked.length, name);
    }
  }
  for (const name of ['get.utc.time.public.v1', 'get.epoch.public.v1']) {
    for (let i = 0; i < 4; i++) {
      // Also when the clock is set back.
      clock.now = START + [0, 5000, 5001, 1000][i]!;
      const { text, ttl, isCached } = ask(name, true);
      assert.ok(text.includes(new Date(clock.now).toISOString().slice(11, 19)), text);
      assert.deepEqual([ttl, isCached], [0, false]);
    }
  }
});

test('what never changes comes from the packet cache at the third query', () => {
  for (const name of ['get.2042.words.public.v1', 'get.10-0-0-0-8.cidr.public.v1', 'get.20.pi.public.v1']) {
    const asked = [1, 2, 3].map(() => ask(name, true));
    assert.deepEqual(
      asked.map(({ ttl, isCached }) => [ttl, isCached]),
      [
        [86_400, false],
        [86_400, false],
        [86_400, true],
      ],
    );
  }
});
