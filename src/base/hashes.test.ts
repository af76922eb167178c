import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedHash } from './hashes.ts';

/** Of the reference implementation: key 00 01 .. 07, message 00 01 .. up to one less than the row's number. */
const VECTORS = [
  'a9359f5b',
  '27475ab8',
  'fa62a603',
  '8afee704',
  '2a6e4689',
  'c5fab669',
  '5863fc23',
  '8bcf63c5',
  'd0b8848f',
  'f806e779',
  '94b07934',
  '08083050',
  '57f0872f',
  '77e663ff',
  'd6fff87c',
  '74fe2b97',
  'd9b5ac84',
];

test('the vectors of the reference implementation of HalfSipHash-2-4', () => {
  const hashOf = keyedHash(Uint8Array.from({ length: 8 }, (_, i) => i));
  for (const [length, expected] of VECTORS.entries()) {
    const octets = Buffer.alloc(4);
    octets.writeUInt32LE(hashOf(String.fromCharCode(...Array.from({ length }, (_, i) => i))));
    assert.equal(octets.toString('hex'), expected, `${length} octets`);
  }
});

test('a key of another length is refused', () => {
  for (const octets of [0, 7, 16]) assert.throws(() => keyedHash(new Uint8Array(octets)), RangeError);
});
