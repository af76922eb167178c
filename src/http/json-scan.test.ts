import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type JsonBounds, membersOf, scanJson } from './json-scan.ts';

const ANY: JsonBounds = { depth: Number.MAX_SAFE_INTEGER, values: Number.MAX_SAFE_INTEGER };

/** @param slice octets between two stops */
function scanned(text: string, bounds: JsonBounds, slice = Number.MAX_SAFE_INTEGER) {
  const octets = Buffer.from(text);
  const scan = scanJson(octets, bounds);
  let excess = null;
  while (scan.at < octets.length && excess === null)
    excess = scan.scan(Math.min(octets.length, scan.at + slice));
  return { excess, members: scan.members };
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + valuesOf(one), 1);
}

describe('the scan of a JSON text', () => {
  test('counts depth, values and members exactly, wherever it stops in between', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom(0, 2),
        fc.integer({ min: 1, max: 9 }),
        (value, indent, slice) => {
          const text = JSON.stringify(value, null, indent);
          const bounds = { depth: depthOf(value), values: valuesOf(value) };
          assert.deepEqual(scanned(text, bounds, slice), { excess: null, members: membersOf(value) });
          if (bounds.depth > 0)
            assert.equal(scanned(text, { ...bounds, depth: bounds.depth - 1 }, slice).excess, 'depth');
          assert.equal(scanned(text, { ...bounds, values: bounds.values - 1 }, slice).excess, 'values');
        },
      ),
    );
  });

  test('a name that stands twice is one member less in the value', () => {
    for (const [text, written, read] of [
      ['{"a":1,"a":2}', 2, 1],
      ['{"a":1,"\\u0061":2}', 2, 1],
      ['{"a":{"b":1,"b":1},"c":{"b":1}}', 5, 4],
      ['[{"a":1},{"a":1}]', 2, 2],
      ['{"a:\\":\\\\":":","b":":"}', 2, 2],
      ['"a:b"', 0, 0],
      ['{}', 0, 0],
    ] as const) {
      assert.deepEqual([scanned(text, ANY).members, membersOf(JSON.parse(text))], [written, read], text);
    }
  });

  test('stops at the value that is one too many, also in a text that is no JSON', () => {
    const bounds = { depth: 3, values: 5 };
    for (const [text, excess] of [
      ['[1,2,3,4]', null],
      ['[1,2,3,4,5]', 'values'],
      ['{"a":1,"b":2,"c":3,"d":4}', null],
      ['{"a":1,"b":2,"c":3,"d":4,"e":5}', 'values'],
      ['[[[]]]', null],
      ['[[[[', 'depth'],
      ['::::::"":"":"":"":"":"":"":""', 'values'],
      ['"a" "b" "c" "d" "e" "f"', 'values'],
      [',,,,,,,,,,,,', null],
      ['["', null],
      ['["\\', null],
    ] as const) {
      assert.equal(scanned(text, bounds).excess, excess, text);
      assert.equal(scanned(text, bounds, 1).excess, excess, text);
    }
  });

  test('reads no octet twice in strings that are full of escapes', () => {
    const octets = Buffer.from(JSON.stringify(['"'.repeat(1000), '\\'.repeat(1000), '"\\'.repeat(500)]));
    let read = 0;
    const counted = new Proxy(octets, {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) read++;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const scan = scanJson(counted, ANY);
    assert.equal(scan.scan(octets.length), null);
    assert.ok(read <= octets.length + 10, `${read} octets of ${octets.length}`);
  });
});
