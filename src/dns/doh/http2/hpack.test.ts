import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { block, type FieldText, integer } from '../../../../test/support/dns/doh/http2/peer.ts';
import { HpackDecoder, HUFFMAN_GROWTH, huffmanDecode } from './hpack-decoder.ts';
import { commonHeaders, HpackEncoder } from './hpack-encoder.ts';
import { type HeaderField, STATIC_TABLE } from './hpack-field.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Fields as lines, or null for a fault. */
function read(decoder: HpackDecoder, octets: Buffer): string[] | null {
  const fields: HeaderField[] = [];
  const whole = decoder.decode(octets, 0, octets.length, (field) => void fields.push(field));
  return whole ? fields.map(({ name, value }) => `${name}: ${value}`) : null;
}

const GET = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'];
const THIRD = [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com'];
const PRIVATE = [
  ':status: 302',
  'cache-control: private',
  'date: Mon, 21 Oct 2013 20:13:21 GMT',
  'location: https://www.example.com',
];
const COOKIE = [
  ':status: 200',
  'cache-control: private',
  'date: Mon, 21 Oct 2013 20:13:22 GMT',
  'location: https://www.example.com',
  'content-encoding: gzip',
  'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
];
/** The table of those examples has 256 octets. */
const SMALL = '3f e1 01';

/** RFC 7541, appendix C: blocks of one connection each, and the fields they mean. */
const EXAMPLES: readonly (readonly [
  section: string,
  ...blocks: (readonly [octets: string, fields: string[]])[],
])[] = [
  [
    'C.2.1 literal with indexing',
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key: custom-header']],
    ['be', ['custom-key: custom-header']],
  ],
  ['C.2.2 literal without indexing', ['040c 2f73 616d 706c 652f 7061 7468', [':path: /sample/path']]],
  ['C.2.3 literal never indexed', ['1008 7061 7373 776f 7264 0673 6563 7265 74', ['password: secret']]],
  ['C.2.4 indexed', ['82', [':method: GET']]],
  [
    'C.3 requests',
    ['8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d', GET],
    ['8286 84be 5808 6e6f 2d63 6163 6865', [...GET, 'cache-control: no-cache']],
    [
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      [...THIRD, 'custom-key: custom-value'],
    ],
  ],
  [
    'C.4 requests with Huffman code',
    ['8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff', GET],
    ['8286 84be 5886 a8eb 1064 9cbf', [...GET, 'cache-control: no-cache']],
    ['8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf', [...THIRD, 'custom-key: custom-value']],
  ],
  [
    'C.5 responses, with eviction',
    [
      `${SMALL} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      PRIVATE,
    ],
    ['4803 3330 37c1 c0bf', PRIVATE.with(0, ':status: 307')],
    [
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
      COOKIE,
    ],
  ],
  [
    'C.6 responses with Huffman code, with eviction',
    [
      `${SMALL} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      PRIVATE,
    ],
    ['4883 640e ffc1 c0bf', PRIVATE.with(0, ':status: 307')],
    [
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      COOKIE,
    ],
  ],
];

for (const [section, ...blocks] of EXAMPLES) {
  test(`RFC 7541, ${section}`, () => {
    const decoder = new HpackDecoder();
    for (const [octets, fields] of blocks) assert.deepEqual(read(decoder, hex(octets)), fields);
  });
}

test('blocks that break the rules, and their neighbours that do not', () => {
  const cases: [name: string, octets: Buffer, good: boolean][] = [
    ['an empty block', hex(''), true],
    ['index 0', hex('80'), false],
    ['the last index of the static table', hex('bd'), true],
    ['an index beyond the tables', hex('be'), false],
    ['a name beyond the tables', hex('7e 01 61'), false],
    ['a literal that uses what it adds', hex('40 01 61 01 62 be'), true],
    ['an integer that does not end', hex('ff 80 80'), false],
    ['an integer of four octets more', Buffer.concat([hex('0f 80 80 80 00'), hex('01 61')]), true],
    ['an integer of five octets more', Buffer.concat([hex('0f 80 80 80 80 00'), hex('01 61')]), false],
    ['an integer of 2^35', hex('ff ff ff ff ff ff 0f'), false],
    ['a text longer than the block', hex('00 01 61 02 62'), false],
    ['a text without a length', hex('00 01 61'), false],
    ['a name without anything', hex('00'), false],
    ['an empty value', hex('00 01 61 00'), true],
    ['a size at the limit', hex('3f e1 1f'), true],
    ['a size one above the limit', hex('3f e2 1f'), false],
    ['two sizes', hex('20 3f e1 1f 82'), true],
    ['three sizes', hex('20 20 20 82'), false],
    ['a size after a field', hex('82 20'), false],
    ['Huffman padding of ones', hex('00 01 61 81 1f'), true],
    ['Huffman padding with a zero', hex('00 01 61 81 1e'), false],
    ['Huffman padding of eight bits', hex('00 01 61 82 1f ff'), false],
    ['EOS', hex('00 01 61 84 ff ff ff ff'), false],
    ['EOS before more', hex('00 01 61 85 ff ff ff fc 1f'), false],
  ];
  for (const [name, octets, good] of cases)
    assert.equal(read(new HpackDecoder(), octets) !== null, good, name);
});

test('the dynamic table holds 4,096 octets, newest first, and forgets the oldest', () => {
  const decoder = new HpackDecoder();
  // 32 + 2 + 30 octets each: 64 of them fit.
  const add = (i: number): Buffer =>
    Buffer.concat([hex('40 02'), Buffer.from(String(i).padStart(2, '0')), hex('1e'), Buffer.alloc(30, 'v')]);
  for (let i = 0; i < 70; i++) assert.notEqual(read(decoder, add(i)), null);
  const nameAt = (age: number): string | undefined =>
    read(decoder, integer(0x80, 0x7f, 62 + age))?.[0]?.slice(0, 2);
  assert.deepEqual([nameAt(0), nameAt(63), nameAt(64)], ['69', '06', undefined]);
  // One too large for it leaves it empty (§4.4).
  const huge = Buffer.concat([hex('40 01 61'), integer(0, 0x7f, 4064), Buffer.alloc(4064, 'v')]);
  assert.notEqual(read(decoder, huge), null);
  assert.equal(nameAt(0), undefined);
  const whole = Buffer.concat([hex('40 01 61'), integer(0, 0x7f, 4063), Buffer.alloc(4063, 'v')]);
  read(decoder, whole);
  assert.equal(nameAt(0), 'a:');
  // Down to nothing and up again.
  assert.deepEqual(read(decoder, hex('20 3f e1 1f')), []);
  assert.equal(nameAt(0), undefined);
});

test('any fields come through as literals', () => {
  const octets = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  fc.assert(
    fc.property(fc.array(fc.tuple(octets, octets), { maxLength: 20 }), (fields) => {
      assert.deepEqual(
        read(new HpackDecoder(), block(fields as FieldText[])),
        fields.map(([name, value]) => `${name}: ${value}`),
      );
    }),
    { seed: 7541, numRuns: 300 },
  );
});

test('any octets are decoded or refused, without reading past the block', () => {
  const out = Buffer.alloc(1000);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      assert.ok(huffmanDecode(bytes, 0, bytes.length, out) <= bytes.length * HUFFMAN_GROWTH);
      read(new HpackDecoder(), Buffer.from(bytes));
    }),
    { seed: 7541, numRuns: 2000 },
  );
});

test('the static table has 61 entries', () => {
  assert.equal(STATIC_TABLE.length, 61);
  assert.deepEqual(
    [1, 2, 28, 31, 61].map((index) => STATIC_TABLE[index - 1]?.name),
    [':authority', ':method', 'content-length', 'content-type', 'www-authenticate'],
  );
});

const COMMON = { 'access-control-allow-origin': '*', 'referrer-policy': 'no-referrer' };
const HEADERS = { 'content-type': 'application/dns-message', 'x-other': 'y'.repeat(200) };

/** What a decoder of a connection makes of replies, in order. */
function sent(encoder: HpackEncoder, decoder: HpackDecoder, status: number, length: number): string[] | null {
  const octets = encoder.encode(status, HEADERS, length);
  return read(decoder, Buffer.copyBytesFrom(encoder.octets, 0, octets));
}

test('replies: common headers go into the peer’s table, once', () => {
  const encoder = new HpackEncoder(commonHeaders(COMMON));
  const decoder = new HpackDecoder();
  const octets: number[] = [];
  for (const [status, length] of [
    [200, 0],
    [204, -1],
    [413, 7],
    [200, 65_535],
    [429, 1_234_567],
  ] as const) {
    const expected = [
      `:status: ${status}`,
      ...Object.entries({ ...COMMON, ...HEADERS }).map((pair) => pair.join(': ')),
    ];
    if (length >= 0) expected.push(`content-length: ${length}`);
    assert.deepEqual(sent(encoder, decoder, status, length), expected);
    octets.push(encoder.encode(200, {}, -1));
  }
  assert.equal(octets[0], 3);
});

test('replies to a peer that wants a smaller table: it is told, and none is used', () => {
  for (const [size, before] of [
    [0, 0],
    [4095, 0],
    [0, 2],
  ] as const) {
    const encoder = new HpackEncoder(commonHeaders(COMMON));
    const decoder = new HpackDecoder();
    for (let i = 0; i < before; i++) sent(encoder, decoder, 200, 1);
    encoder.limitTable(size);
    encoder.limitTable(65_536);
    const first = encoder.encode(200, {}, 1);
    assert.equal(encoder.octets[0], 0x20);
    assert.equal(read(decoder, Buffer.copyBytesFrom(encoder.octets, 0, first))?.length, 4);
    assert.equal(read(decoder, hex('be')), null);
    encoder.encode(200, {}, 1);
    assert.equal(encoder.octets[0], 0x88);
    assert.equal(sent(encoder, decoder, 200, 1)?.length, 6);
  }
  const encoder = new HpackEncoder(commonHeaders(COMMON));
  encoder.limitTable(4096);
  encoder.encode(200, {}, 1);
  assert.equal(encoder.octets[0], 0x88);
});

test('headers beyond one frame are a fault of the server', () => {
  const encoder = new HpackEncoder(commonHeaders(COMMON));
  assert.throws(() => encoder.encode(200, { x: 'y'.repeat(16_384) }, 1), RangeError);
});
