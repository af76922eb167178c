import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dnsParamOctets } from './request.ts';

test('base64url: unpadded, its own alphabet, no stray bits', () => {
  const cases: [text: string, octets: number[] | null][] = [
    ['', []],
    ['AA', [0]],
    ['_-8', [255, 239]],
    ['AAAA', [0, 0, 0]],
    ['A', null],
    ['AAAAA', null],
    ['AB', null],
    ['AA==', null],
    ['AA=', null],
    ['/+8', null],
    ['A A', null],
    ['AA\n', null],
    ['ÄÄ', null],
  ];
  for (const [text, octets] of cases) {
    const decoded = dnsParamOctets(text);
    assert.deepEqual(decoded === null ? null : [...decoded], octets, JSON.stringify(text));
  }
});

test('base64url: any octets come back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (octets) => {
      const decoded = dnsParamOctets(Buffer.from(octets).toString('base64url'));
      assert.deepEqual(Buffer.from(decoded!), Buffer.from(octets));
    }),
  );
});
