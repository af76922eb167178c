import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRecordKey } from '../../../../src/protocol/names/record-key.ts';
import { checkedRows, rowOf } from '../import/candidate.ts';
import { newDraft, readDraft } from './record-draft.ts';
import {
  base64Octets,
  contentTypeFault,
  keyFault,
  keyParts,
  limitsOf,
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
      'manifest.a.public.v1',
      'Identity.a.b.public.v1',
      'a.manifest.public.v1',
      'manifest.acme.v1',
      'get.a.acme',
      '\u212Aelvin.acme.v1',
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

  it('refuses the reserved key manifest.a.public.v1, as the server does', () => {
    assert.equal(parseRecordKey('manifest.a.public.v1', ZONE), 'key is reserved');
    assert.equal(keyFault('manifest.a.public.v1', LONGEST), 'key_reserved');
    assert.equal(keyFault('IDENTITY.a.b.public.v1', LONGEST), 'key_reserved');
    const draft = { ...newDraft('public', 300), key: 'manifest.a.public.v1' };
    assert.deepEqual(readDraft(draft, limitsOf({}), 0).faults, [{ field: 'key', reason: 'key_reserved' }]);
    const row = rowOf(1, { key: 'manifest.a.public.v1', data: '' });
    const context = { limits: limitsOf({}), namespaces: new Set(['public']), now: 0 };
    assert.equal(checkedRows([row], context)[0]?.refusal, 'key_reserved');
  });

  it('divides a key', () => {
    assert.deepEqual(keyParts('a.b.config.acme.v2'), {
      params: 'a.b',
      resource: 'config',
      namespace: 'acme',
      version: 'v2',
    });
  });

  it('knows the octets of Base64', () => {
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
