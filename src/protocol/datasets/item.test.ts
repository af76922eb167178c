import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { identityTxt, readItem } from './item.ts';

const LINE = {
  k: '4006381333931',
  from: '2020-01-01',
  to: null,
  issuer: 'Example',
  brand: '',
  cc: 'DE',
  type: 'pen',
};

function read(change: object, slug = 'gtin'): ReturnType<typeof readItem> {
  return readItem(JSON.parse(JSON.stringify({ ...LINE, ...change })), slug);
}

describe('lines of an items file', () => {
  it('have a key, a window and facts', () => {
    assert.deepEqual(read({}), {
      item: '4006381333931',
      from: 1_577_836_800,
      to: null,
      issuer: 'Example',
      brand: '',
      cc: 'DE',
      type: 'pen',
    });
    assert.deepEqual(readItem({ k: 'Ab-C', from: null, cc: 'zz' }, 'x'), {
      item: 'ab-c',
      from: null,
      to: null,
      issuer: '',
      brand: '',
      cc: 'zz',
      type: '',
    });
  });

  it('have fields with bounds, on both sides', () => {
    for (const [change, fault] of [
      [{ k: '123' }, 'k must be 8, 12, 13 or 14 digits'],
      [{ k: 4006381333931 }, 'k must be a string'],
      [{ k: undefined }, 'k is required'],
      [{ from: undefined }, 'from is required'],
      [{ from: '0001-01-01' }, null],
      [{ from: '0000-01-01' }, 'from must be a date YYYY-MM-DD, unix seconds or null'],
      [{ from: -62_135_596_800 }, null],
      [{ from: -62_135_596_801 }, 'from must be in the years 1 to 9999'],
      [{ to: 253_402_300_799 }, null],
      [{ to: 253_402_300_800 }, 'to must be in the years 1 to 9999'],
      [{ to: '9999-12-31' }, null],
      [{ to: '2021-02-29' }, 'to must be a date YYYY-MM-DD, unix seconds or null'],
      [{ from: '2020-01-01T00:00:00Z' }, 'from must be a date YYYY-MM-DD, unix seconds or null'],
      [{ from: '1577836800' }, 'from must be a date YYYY-MM-DD, unix seconds or null'],
      [{ from: 1.5 }, 'from must be a date YYYY-MM-DD, unix seconds or null'],
      [{ from: true }, 'from must be a date YYYY-MM-DD, unix seconds or null'],
      [{ to: 1_577_836_801 }, null],
      [{ to: 1_577_836_800 }, 'to must be after from'],
      [{ issuer: 'a'.repeat(128) }, null],
      [{ issuer: 'a'.repeat(129) }, 'issuer must have at most 128 octets'],
      [{ brand: '\u00e9'.repeat(65) }, 'brand must have at most 128 octets'],
      [{ type: 'a;b' }, 'type must not contain ; or \\'],
      [{ type: 'a\nb' }, 'type must be one line of text without control characters'],
      [{ type: 'a\ud800' }, 'type must be one line of text without control characters'],
      [{ type: null }, 'type must be a string'],
      [{ cc: 'D' }, 'cc must be two letters'],
      [{ cc: 'DEU' }, 'cc must be two letters'],
      [{ cc: '' }, 'cc must be two letters'],
      [{ cc: '\u00c4\u00c4' }, 'cc must be two letters'],
      [{ cc: 5 }, 'cc must be a string'],
      [{ cc: undefined }, 'cc is required'],
      [{ gtin: '1' }, 'gtin is not a known field'],
      [{ k: '1', cc: 'D' }, 'k must be 8, 12, 13 or 14 digits; cc must be two letters'],
    ] as const) {
      const result = read(change);
      assert.equal(typeof result === 'string' ? result : null, fault, JSON.stringify(change));
    }
    for (const value of [null, [], 'a', 5]) assert.equal(readItem(value, 'x'), 'is not a JSON object');
    assert.equal(
      readItem(JSON.parse('{"__proto__": 1, "k": "a", "from": null, "cc": "DE"}'), 'x'),
      '__proto__ is not a known field',
    );
  });

  it('have keys that fit into a label with their slug', () => {
    const slug = 'a'.repeat(40);
    assert.equal(typeof read({ k: 'b'.repeat(20) }, slug), 'object');
    const fault = read({ k: 'b'.repeat(21) }, slug);
    assert.ok(typeof fault === 'string' && fault.startsWith('k is too long'));
  });
});

describe('identity answers', () => {
  it('have their fields in one order, and fit into a TXT value', () => {
    const window = read({});
    assert.ok(typeof window === 'object');
    assert.equal(
      identityTxt('gtin', window),
      'v=svc-id.v1;ds=gtin;k=4006381333931;issuer=Example;brand=;cc=DE;type=pen',
    );
    const text = '\u00e9'.repeat(64);
    const longest = read({ k: 'b'.repeat(20), issuer: text, brand: text, type: text }, 'a'.repeat(40));
    assert.ok(typeof longest === 'object');
    assert.ok(Buffer.byteLength(identityTxt('a'.repeat(40), longest)) <= 3500);
  });
});
