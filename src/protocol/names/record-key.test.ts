import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQueryName } from './query-name.ts';
import { parseRecordKey, type RecordKey } from './record-key.ts';

const ZONE = 'uqrp.net'.length;

const VALID: readonly (readonly [string, RecordKey])[] = [
  ['temp.acme.v1', { key: 'temp.acme.v1', resource: 'temp', namespace: 'acme', version: 'v1' }],
  ['Temp.ACME.V1', { key: 'temp.acme.v1', resource: 'temp', namespace: 'acme', version: 'v1' }],
  ['a.b.temp.acme.v2', { key: 'a.b.temp.acme.v2', resource: 'temp', namespace: 'acme', version: 'v2' }],
  ['hex-00ff.t.acme.v1', { key: 'hex-00ff.t.acme.v1', resource: 't', namespace: 'acme', version: 'v1' }],
];

const INVALID: readonly (readonly [string, RegExp])[] = [
  ['', /must be/],
  ['acme.v1', /must be/],
  ['temp.acme.v0', /version/],
  ['temp.acme.v01', /version/],
  ['temp.acme.1', /version/],
  ['temp.acme.v', /version/],
  ['te mp.acme.v1', /label/],
  ['te_mp.acme.v1', /label/],
  ['-a.temp.acme.v1', /label/],
  ['.temp.acme.v1', /label/],
  ['temp.acme.v1.', /label/],
  ['tëmp.acme.v1', /label/],
  // KELVIN SIGN and LATIN CAPITAL LETTER I WITH DOT ABOVE: lower case turns the one into k, the other into i and a mark.
  ['\u212A.temp.acme.v1', /label/],
  ['temp.\u212Aelvin.v1', /label/],
  ['\u0130.temp.acme.v1', /label/],
  ['auth-x.temp.acme.v1', /auth-/],
  ['x.auth-y.acme.v1', /auth-/],
  ['datasets.acme.v1', /datasets/],
  ['x.datasets.acme.v1', /datasets/],
  ['manifest.x.public.v1', /reserved/],
  ['identity.x.public.v1', /reserved/],
];

test('valid keys come out in canonical lower case', () => {
  for (const [text, expected] of VALID) assert.deepEqual(parseRecordKey(text, ZONE), expected);
});

test('invalid keys give one message that begins with the field', () => {
  for (const [text, message] of INVALID) {
    const result = parseRecordKey(text, ZONE);
    assert.ok(typeof result === 'string', text);
    assert.match(result, message);
    assert.match(result, /^key /);
  }
});

test('the longest key is one whose query with a token has 253 characters', () => {
  const token = `svcq${'0'.repeat(52)}`;
  const tail = '.temp.acme.v1';
  const around = `get.auth-${token}.`.length + '.uqrp.net'.length;
  const room = 253 - around - tail.length;
  const params = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(room - 128)}`;
  assert.equal(`get.auth-${token}.${params}${tail}.uqrp.net`.length, 253);
  assert.equal(typeof parseRecordKey(params + tail, ZONE), 'object');
  const fault = parseRecordKey(`${params}c${tail}`, ZONE);
  assert.ok(typeof fault === 'string');
  assert.match(fault, /longer than 178/);
});

test('every accepted key can be asked for', () => {
  for (const [text] of VALID) {
    const key = parseRecordKey(text, ZONE);
    assert.ok(typeof key === 'object');
    const parsed = parseQueryName(`get.auth-svcq0.${key.key}`);
    assert.ok(parsed.kind === 'query' && parsed.query.key === key.key);
  }
});
