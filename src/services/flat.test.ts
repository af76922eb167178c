import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codeOf } from '../../test/support/services/check-service.ts';
import { parseEnvelope } from '../protocol/query/envelope.ts';
import {
  constant,
  decimal,
  flatEnvelope,
  malformedAnswer,
  malformedWithEnvelope,
  notEnabled,
  notFoundAnswer,
  rateLimited,
  rounded,
  timedOut,
  unescaped,
} from './answers.ts';

test('flat fields in order; undefined is left out', () => {
  assert.equal(
    flatEnvelope({ b: 'x', a: 1.5, gone: undefined, z: '' }).toString(),
    'v=svc1;s=ok;t=data;b=x;a=1.5;z=',
  );
});

test('what would break the format is escaped', () => {
  for (const [value, escaped] of [
    ['a;b', 'a%3Bb'],
    ['100%', '100%25'],
    ['%3B', '%253B'],
    ['a=b', 'a=b'],
    ['say "no" \\', 'say "no" \\'],
    ['line\nbreak\0', 'line%0Abreak%00'],
    ['\x7f', '%7F'],
    ['São', 'S%C3%A3o'],
    ['東', '%E6%9D%B1'],
    ['🌙', '%F0%9F%8C%99'],
    ['\ud800', '%EF%BF%BD'],
  ] as const) {
    assert.equal(flatEnvelope({ x: value }).toString('latin1'), `v=svc1;s=ok;t=data;x=${escaped}`);
  }
});

test('property: any text comes back whole, and never ends its field', () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 });
  fc.assert(
    fc.property(text, text, (one, two) => {
      const envelope = flatEnvelope({ one, two }).toString('latin1');
      assert.match(envelope, /^[\x20-\x7e]*$/);
      const parsed = parseEnvelope(envelope);
      assert.deepEqual([...(parsed?.fields.keys() ?? [])], ['v', 's', 't', 'one', 'two']);
      assert.equal(unescaped(parsed!.fields.get('one')!), one.toWellFormed());
      assert.equal(unescaped(parsed!.fields.get('two')!), two.toWellFormed());
    }),
    { numRuns: 50 },
  );
});

test('faults of a service are thrown', () => {
  for (const fields of [
    { 'a;b': 1 },
    { A: 1 },
    { '': 1 },
    { x: Number.NaN },
    { x: Number.POSITIVE_INFINITY },
  ]) {
    assert.throws(() => flatEnvelope(fields), RangeError);
  }
});

test('decimals have no exponent and no negative zero', () => {
  for (const [value, text] of [
    [0, '0'],
    [-0, '0'],
    [1.5, '1.5'],
    [1e21, '1000000000000000000000'],
    [-1.25e22, '-12500000000000000000000'],
    [1e-7, '0.0000001'],
    [-1.25e-9, '-0.00000000125'],
  ] as const) {
    assert.equal(decimal(value), text);
  }
  assert.equal(rounded(-0.04, 1), 0);
});

test('property: a decimal reads back as the number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = decimal(value);
      assert.match(text, /^-?\d+(\.\d+)?$/);
      assert.equal(Number(text), value === 0 ? 0 : value);
    }),
  );
});

test('errors', () => {
  for (const [outcome, code, ttl] of [
    [notFoundAnswer(0), 'E004', 30],
    [timedOut(0), 'E011', 0],
    [notEnabled(0), 'E013', 30],
    [rateLimited(12.1, 0), 'E010', 0],
  ] as const) {
    assert.ok(outcome.kind === 'answer');
    assert.deepEqual([codeOf(outcome), outcome.ttl, outcome.until], [code, ttl, ttl * 1000]);
  }
  const limited = rateLimited(12.1, 0);
  assert.ok(limited.kind === 'answer');
  assert.match(Buffer.from(limited.text).toString(), /^v=svc1;s=ratelimit;.*;retry_after=13$/);
  assert.equal(codeOf(malformedAnswer('value')), null);
  assert.equal(codeOf(malformedWithEnvelope('ticker', 1)), 'E005');
  assert.deepEqual(malformedAnswer('unit'), { kind: 'malformed', code: 'E005', cause: 'unit' });
  const made = constant({ x: 1 }, 5);
  assert.ok(made.kind === 'answer' && made.ttl === 5);
  assert.equal(Buffer.from(made.text).toString(), 'v=svc1;s=ok;t=data;x=1');
});
