import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeQuery } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { isChanging } from '../../view/freshness.ts';
import type { Tag } from '../accounting/tag.ts';
import type { Validity } from './cache-rows.ts';
import { PacketCache } from './packet-cache.ts';

/** A cache with few buckets, whose replies go round their memory many times. */
const SETTINGS = { entries: 16, octets: 16 * (68 + 168) + 3000 };
const NAMES = 24;
const COUNTERS = 3;

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('store' as const),
      name: fc.nat(NAMES - 1),
      octets: fc.nat(600),
      life: fc.nat(20),
      namespaceStripe: fc.nat(COUNTERS - 1),
      keyStripe: fc.nat(COUNTERS - 1),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('look' as const),
      name: fc.nat(NAMES - 1),
      upper: fc.boolean(),
    }),
  },
  {
    // Twice for a commit: what is stored in between was read while it was under way.
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('change' as const), stripe: fc.nat(COUNTERS - 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('clock' as const), by: fc.integer({ min: -5, max: 10 }) }),
  },
);

interface Stored {
  readonly bytes: Uint8Array;
  readonly validity: Validity;
  readonly tag: Tag;
}

function questionOf(name: number, id: number, isUpper = false): Uint8Array {
  const text = `get.k${name}.ns.v1.uqrp.net`;
  const wire = nameFromText(isUpper ? text.toUpperCase() : text)!;
  return encodeQuery(wire, 16, { id, rd: false, edns: null });
}

/** Header and question, then octets that differ from those of every other reply. */
function replyTo(question: Uint8Array, octets: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(question.length + octets);
  bytes.set(question);
  for (let i = 0; i < octets; i++) bytes[question.length + i] = seed * 31 + i * 7;
  return bytes;
}

test('it gives what a map gives, or nothing: the last reply to the question, while it is valid', () => {
  let hits = 0;
  let storedOctets = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 400 }), (steps) => {
      const counters = [0, 0, 0];
      const model = new Map<number, Stored>();
      const seen = new Set<number>();
      const cache = new PacketCache((index) => counters[index]!, SETTINGS);
      const out = new Uint8Array(4096);
      let now = 1_000_000;
      for (const [id, next] of steps.entries()) {
        if (next.kind === 'change') counters[next.stripe]!++;
        else if (next.kind === 'clock') now += next.by;
        else if (next.kind === 'store') {
          const question = questionOf(next.name, 0);
          const bytes = replyTo(question, next.octets, id);
          const { namespaceStripe, keyStripe } = next;
          const validity = {
            from: now,
            until: now + next.life,
            namespaceStripe,
            namespaceCount: counters[namespaceStripe]!,
            keyStripe,
            keyCount: counters[keyStripe]!,
          };
          const tag = { status: id } as Tag;
          cache.store(question, question.length, { bytes, optAt: bytes.length }, validity, tag);
          const isRead = !isChanging(validity.namespaceCount) && !isChanging(validity.keyCount);
          if (seen.has(next.name) && isRead) model.set(next.name, { bytes, validity, tag });
          seen.add(next.name);
          storedOctets += bytes.length;
          assert.ok(cache.size <= 3000);
        } else {
          const question = questionOf(next.name, id, next.upper);
          const octets = cache.lookup(question, question.length, false, out, now);
          if (octets === 0) continue;
          hits++;
          const stored = model.get(next.name);
          assert.ok(stored !== undefined);
          const { bytes, validity, tag } = stored;
          assert.ok(now >= validity.from && now < validity.until);
          assert.equal(counters[validity.namespaceStripe], validity.namespaceCount);
          assert.equal(counters[validity.keyStripe], validity.keyCount);
          const expected = Buffer.concat([question, bytes.subarray(question.length)]);
          assert.ok(expected.equals(out.subarray(0, octets)));
          assert.equal(cache.tag, tag);
        }
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(hits > 500, `${hits} hits`);
  assert.ok(storedOctets > 200 * 3000, 'the replies went round the memory several times');
});
