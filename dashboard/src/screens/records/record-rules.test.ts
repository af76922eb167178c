import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRecordKey } from '../../../../src/protocol/names/record-key.ts';
import {
  base64Octets,
  contentTypeFault,
  isStrictBase64,
  keyFault,
  keyParts,
  textToBase64,
} from './record-rules.ts';

const ZONE = 'uqrp.net'.length;
const LONGEST = 178;

describe('rules of records in the page', () => {
  it('accepts and refuses the keys that the server accepts and refuses', () => {
    const label = 'a'.repeat(63);
    const keys = [
      'greeting.acme.v1',
      'Eu.Config.ACME.V12',
      'x',
      'a.b',
      '.acme.v1',
      'a..v1',
      'a.acme.v0',
      'a.acme.v01',
      'a.acme.1',
      'a_b.acme.v1',
      '-a.acme.v1',
      'a-.acme.v1',
      'auth-x.acme.v1',
      'a.auth-b.c.acme.v1',
      'datasets.acme.v1',
      'x.datasets.acme.v1',
      `${label}.acme.v1`,
      `${label}a.acme.v1`,
      `${label}.${label}.${'b'.repeat(42)}.acme.v1`,
      `${label}.${label}.${'b'.repeat(43)}.acme.v1`,
      'ünlaut.acme.v1',
      '<img src=x onerror=alert(1)>.acme.v1',
      `a.acme.v1${'0'.repeat(61)}`,
      `a.acme.v1${'0'.repeat(62)}`,
    ];
    for (const key of keys) {
      const isTaken = typeof parseRecordKey(key, ZONE) !== 'string';
      assert.equal(keyFault(key, LONGEST) === null, isTaken, key);
    }
  });

  it('says what is wrong with a key', () => {
    assert.equal(keyFault('a.v1', LONGEST), 'key_parts');
    assert.equal(keyFault('a.acme.one', LONGEST), 'key_version');
    assert.equal(keyFault('auth-a.b.acme.v1', LONGEST), 'key_auth');
    assert.equal(keyFault('datasets.acme.v1', LONGEST), 'key_datasets');
  });

  it('divides a key', () => {
    assert.deepEqual(keyParts('a.b.config.acme.v2'), {
      params: 'a.b',
      resource: 'config',
      namespace: 'acme',
      version: 'v2',
    });
  });

  it('takes strict Base64 alone', () => {
    for (const good of ['', 'YQ==', 'YWI=', 'YWJj', textToBase64('grüße')])
      assert.ok(isStrictBase64(good), good);
    for (const bad of ['YQ', 'YQ=', 'Y', 'YR==', 'YW I=', '****', 'YWJj='])
      assert.ok(!isStrictBase64(bad), bad);
    assert.deepEqual(['', 'YQ==', 'YWI=', 'YWJj'].map(base64Octets), [0, 1, 2, 3]);
  });

  it('encodes long data', () => {
    const text = 'ä'.repeat(50_000);
    assert.equal(textToBase64(text), Buffer.from(text).toString('base64'));
  });

  it('checks media types', () => {
    assert.equal(contentTypeFault('text/plain; charset="utf-8"', 127), null);
    assert.equal(contentTypeFault('text', 127), 'type_form');
    assert.equal(contentTypeFault('', 127), 'type_form');
    assert.equal(contentTypeFault(`text/${'x'.repeat(122)}`, 127), null);
    assert.equal(contentTypeFault(`text/${'x'.repeat(123)}`, 127), 'type_long');
  });
});
