import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block, type FieldText, getOf, integer } from '../../../../test/support/dns/doh/http2/peer.ts';
import type { RequestHead } from '../request.ts';
import { ERROR } from './frames.ts';
import { HEADER_FIELDS, HEADER_LIST_OCTETS } from './limits.ts';
import { HeadReader } from './request-head.ts';

function read(fields: readonly FieldText[]): RequestHead | number {
  const octets = block(fields);
  return new HeadReader().request(octets, 0, octets.length);
}

const M: FieldText = [':method', 'GET'];
const S: FieldText = [':scheme', 'https'];
const P: FieldText = [':path', '/'];
const A: FieldText = [':authority', 'localhost'];

/** RFC 9113 §8.2, §8.3: header lists, and whether they are those of a request. */
type Case = readonly [name: string, fields: readonly FieldText[], good: boolean];
const LISTS: readonly Case[] = [
  ['the least', [M, S, P], true],
  ['in any order', [P, A, S, M], true],
  ['nothing', [], false],
  ['no method', [S, P, A], false],
  ['no scheme', [M, P, A], false],
  ['no path', [M, S, A], false],
  ...[M, S, P, A].map(([name, value]) => [`two ${name}`, [M, S, P, A, [name, value]], false] satisfies Case),
  ['a pseudo-header field after another', [M, S, ['accept', '*/*'], P], false],
  ['an unknown pseudo-header field', [M, S, P, [':proto', 'x']], false],
  ['the status of a response', [M, S, P, [':status', '200']], false],
  ['the protocol of an extended CONNECT', [M, S, P, [':protocol', 'websocket']], false],
  ['CONNECT', [[':method', 'CONNECT'], A], true],
  ['CONNECT without a place', [[':method', 'CONNECT']], false],
  ['CONNECT with a path', [[':method', 'CONNECT'], S, P, A], false],
  ['CONNECT with a scheme', [[':method', 'CONNECT'], S, A], false],
  ['an empty path', [M, S, [':path', '']], false],
  ['a relative path', [M, S, [':path', 'a']], false],
  ['an asterisk', [M, S, [':path', '*']], true],
  ['a path with a blank', [M, S, [':path', '/a b']], false],
  ['an empty method', [[':method', ''], S, P], false],
  ['a method with a blank', [[':method', 'GE T'], S, P], false],
  ['an empty scheme', [M, [':scheme', ''], P], false],
  ['a name of all kinds', [M, S, P, ["!#$%&'*+-.^_`|~09az", '']], true],
  ['an empty name', [M, S, P, ['', 'x']], false],
  ...['A', ' ', ':', '\0', '\x7f', '\x80', '(', '"', '/'].map(
    (char) => [`a name with ${JSON.stringify(char)}`, [M, S, P, [`x${char}y`, '']], false] satisfies Case,
  ),
  ...['\0', '\r', '\n'].map(
    (char) => [`a value with ${JSON.stringify(char)}`, [M, S, P, ['x', `a${char}b`]], false] satisfies Case,
  ),
  ...[' a', 'a ', '\ta', 'a\t', ' '].map(
    (value) => [`the value ${JSON.stringify(value)}`, [M, S, P, ['x', value]], false] satisfies Case,
  ),
  ['a value with blanks within, and octets above 127', [M, S, P, ['x', 'a b\tc \xe9']], true],
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
    (name) => [name, [M, S, P, [name, 'x']], false] satisfies Case,
  ),
  ['te: trailers', [M, S, P, ['te', 'trailers']], true],
  ['te: gzip', [M, S, P, ['te', 'gzip']], false],
  ['a length', [M, S, P, ['content-length', '0']], true],
  ['the same length twice', [M, S, P, ['content-length', '7'], ['content-length', '7']], true],
  ['two lengths', [M, S, P, ['content-length', '7'], ['content-length', '8']], false],
  ...['', '-1', '+1', '1.0', '0x1', '1,1', '9'.repeat(16)].map(
    (value) =>
      [`the length ${JSON.stringify(value)}`, [M, S, P, ['content-length', value]], false] satisfies Case,
  ),
];

for (const [name, fields, good] of LISTS) {
  test(`${good ? 'a request' : 'malformed'}: ${name}`, () => {
    const head = read(fields);
    assert.equal(typeof head === 'number' ? head : 'request', good ? 'request' : ERROR.protocol);
  });
}

test('what is taken from a request', () => {
  const fields = getOf('/a?b', ['content-type', 'x'], ['content-type', 'y'], ['content-length', '5']);
  assert.deepEqual(read(fields), {
    method: 'GET',
    target: '/a?b',
    contentType: 'x',
    contentLength: '5',
    tooLarge: false,
  });
});

test('the size of a list: fields and octets at the limit, and one more', () => {
  const tooLarge = (fields: readonly FieldText[]): boolean => (read(fields) as RequestHead).tooLarge;
  const fields = (count: number): FieldText[] => [M, S, P, ...Array<FieldText>(count - 3).fill(['x', ''])];
  assert.deepEqual(
    [HEADER_FIELDS, HEADER_FIELDS + 1].map((count) => tooLarge(fields(count))),
    [false, true],
  );
  const octets = [M, S, P].reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
  const long = (size: number): FieldText[] => [M, S, P, ['x', 'y'.repeat(size - octets - 33)]];
  assert.deepEqual(
    [HEADER_LIST_OCTETS, HEADER_LIST_OCTETS + 1].map((size) => tooLarge(long(size))),
    [false, true],
  );
});

test('a list that grows out of a few octets is too large, and still read to its end', () => {
  const big = Buffer.concat([Buffer.from([0x40, 1, 0x61]), integer(0, 0x7f, 4000), Buffer.alloc(4000, 'v')]);
  const octets = Buffer.concat([block([M, S, P]), big, Buffer.alloc(60_000, 0xbe)]);
  const reader = new HeadReader();
  assert.equal((reader.request(octets, 0, octets.length) as RequestHead).tooLarge, true);
  const after = Buffer.concat([block([M, S, P]), Buffer.from([0xbe])]);
  assert.equal((reader.request(after, 0, after.length) as RequestHead).tooLarge, false);
});

test('a block that comes again means the same while the table does', () => {
  const reader = new HeadReader();
  const ask = (octets: Buffer): RequestHead | number => reader.request(octets, 0, octets.length);
  const add = (value: string): Buffer =>
    Buffer.concat([block([M, S, P]), Buffer.from([0x40]), block([['content-type', value]]).subarray(1)]);
  const indexed = Buffer.concat([block([M, S, P]), Buffer.from([0xbe])]);
  const type = (octets: Buffer): string | undefined => (ask(octets) as RequestHead).contentType;
  assert.equal(ask(indexed), ERROR.compression);
  assert.equal(type(add('one')), 'one');
  assert.deepEqual([type(indexed), type(indexed)], ['one', 'one']);
  assert.equal(ask(indexed), ask(indexed));
  assert.equal(type(add('two')), 'two');
  assert.equal(type(indexed), 'two');
  const shrunk = Buffer.concat([Buffer.from([0x20]), block([M, S, P])]);
  assert.equal(type(shrunk), undefined);
  assert.equal(ask(indexed), ERROR.compression);
});
