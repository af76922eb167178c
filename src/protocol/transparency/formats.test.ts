/** Bounds and spellings of notes, checkpoints, proofs, tiles: what is accepted is written again, octet for octet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { exampleText } from '../../../test/support/protocol/transparency/example.ts';
import { parseCheckpoint, parseDecimal, parseTreeHead, treeHeadText } from './checkpoint.ts';
import {
  COSIGNER_KEY,
  encodeTime,
  LOG_KEY,
  NOTE_OCTETS,
  NOTE_SIGNATURES,
  noteSignature,
  parseNote,
  parseSignatureLines,
  parseVerifierKey,
  printNote,
  printVerifierKey,
  signedOctets,
} from './note.ts';
import { parseLogProof, printLogProof } from './proof.ts';
import { inclusionSubtrees, type Subtree } from './subtrees.ts';
import {
  decodeEntries,
  decodeTile,
  encodeEntries,
  parseTilePath,
  storedHashes,
  TILE_LEAF_OCTETS,
  type Tile,
  tilePath,
  tilesOf,
  tileWidth,
} from './tiles.ts';

const SIGNATURE = '— a.example/x AAAAAAE=';
const NOTE = `text\n\n${SIGNATURE}\n`;
const HASH = `${'A'.repeat(43)}=`;
const KEY = `a.example/x+00000000+${'A'.repeat(43)}A`;

const NOTES: readonly (readonly [why: string, note: string])[] = [
  ['empty', ''],
  ['no signature', 'text\n\n'],
  ['no empty line', `text\n${SIGNATURE}\n`],
  ['no line feed at the end', NOTE.slice(0, -1)],
  ['an empty line at the end', `${NOTE}\n`],
  ['CRLF', NOTE.replaceAll('\n', '\r\n')],
  ['a tab', NOTE.replace('text', 'te\txt')],
  ['a null', NOTE.replace('text', 'te\0xt')],
  ['half a surrogate', NOTE.replace('text', 'te\ud800xt')],
  ['a hyphen for the dash', NOTE.replace('—', '-')],
  ['no blank after the dash', NOTE.replace('— ', '—')],
  ['two blanks', NOTE.replace(' AAAA', '  AAAA')],
  ['a plus in the name', NOTE.replace('a.example', 'a+example')],
  ['a no-break space in the name', NOTE.replace('a.example', 'a\u00a0example')],
  ['no name', NOTE.replace('a.example/x ', ' ')],
  ['a blank at the end', NOTE.replace('AAE=', 'AAE= ')],
  ['four octets', NOTE.replace('AAAAAAE=', 'AAAAAA==')],
  ['Base64 without padding', NOTE.replace('AAE=', 'AAE')],
  ['Base64 with bits that are not used', NOTE.replace('AAE=', 'AAF=')],
  ['Base64 of URLs', NOTE.replace('AAAAAAE=', 'AAAAA-E=')],
  ['a second line that is none', `${NOTE}text\n`],
];

test('notes that are malformed', () => {
  for (const [why, note] of NOTES) assert.equal(parseNote(note), null, why);
  for (const [why, note] of NOTES.slice(14)) {
    assert.equal(parseSignatureLines(note.slice(note.indexOf('\n\n') + 2)), null, why);
  }
});

test('notes that are well-formed: empty lines, other alphabets, many signatures up to the bound', () => {
  const many = (count: number): string => `text\n\n${`${SIGNATURE}\n`.repeat(count)}`;
  const largest = `${'é'.repeat((NOTE_OCTETS - NOTE.length + 3) / 2)}${NOTE.slice(3)}`;
  const notes = [NOTE, `a\n\n\nb\n${NOTE}`, NOTE.replace('a.example', '例.example'), many(NOTE_SIGNATURES)];
  for (const note of notes) assert.equal(printNote(parseNote(note)!), note);
  assert.equal(parseNote(`a\n\nb\n${NOTE}`)?.text, 'a\n\nb\ntext\n');
  assert.equal(parseNote(many(NOTE_SIGNATURES + 1)), null);
  // The dash has three octets.
  const fits = largest.slice(1);
  assert.ok(Buffer.byteLength(fits) <= NOTE_OCTETS && Buffer.byteLength(fits) > NOTE_OCTETS - 3);
  assert.ok(parseNote(fits));
  assert.equal(parseNote(`éé${fits}`), null);
});

test('verifier keys', () => {
  assert.equal(printVerifierKey(parseVerifierKey(KEY)!), KEY);
  const wrong = [
    '',
    KEY.replace('00000000', '0000000'),
    KEY.replace('00000000', '0000000A'),
    KEY.replace('a.example', 'a example'),
    KEY.slice(11),
    `${KEY}=`,
    `${KEY}\n`,
    'a.example/x+00000000+',
    'a.example/x+00000000+AQ==',
    // A log's key with 31 octets, and a witness's with 33.
    `a.example/x+00000000+${Buffer.from([LOG_KEY, ...new Uint8Array(31)]).toString('base64')}`,
    `a.example/x+00000000+${Buffer.from([COSIGNER_KEY, ...new Uint8Array(33)]).toString('base64')}`,
  ];
  for (const text of wrong) assert.equal(parseVerifierKey(text), null, text);
  const other = `a.example/x+00000000+${Buffer.from([6, ...new Uint8Array(1312)]).toString('base64')}`;
  assert.equal(parseVerifierKey(other)?.type, 6);
});

test('what a signature signs: lengths, and times up to what a date holds', () => {
  const cosignature = (time: bigint): Uint8Array => {
    const octets = Buffer.alloc(72);
    octets.writeBigUInt64BE(time);
    return octets;
  };
  const largest = 8_640_000_000_000n;
  assert.ok(!Number.isNaN(new Date(Number(largest) * 1000).getTime()));
  const signed = signedOctets('t\n', COSIGNER_KEY, cosignature(largest));
  assert.equal(Buffer.from(signed!.message).toString(), `cosignature/v1\ntime ${largest}\nt\n`);
  assert.deepEqual(encodeTime(Number(largest)), new Uint8Array(cosignature(largest).subarray(0, 8)));
  assert.equal(signedOctets('t\n', COSIGNER_KEY, cosignature(largest + 1n)), null);
  assert.equal(signedOctets('t\n', COSIGNER_KEY, new Uint8Array(71)), null);
  assert.equal(signedOctets('t\n', LOG_KEY, new Uint8Array(72)), null);
  assert.equal(signedOctets('t\n', 6, new Uint8Array(64)), null);
  assert.equal(Buffer.from(signedOctets('t\n', LOG_KEY, new Uint8Array(64))!.message).toString(), 't\n');
});

test('numbers in decimal', () => {
  for (const value of [0, 1, 10, Number.MAX_SAFE_INTEGER]) assert.equal(parseDecimal(String(value)), value);
  for (const text of [
    '',
    '00',
    '01',
    '-1',
    '+1',
    '1.0',
    '1e3',
    ' 1',
    '٣',
    '9007199254740992',
    '1'.repeat(17),
  ]) {
    assert.equal(parseDecimal(text), null, text);
  }
});

test('checkpoints: three lines, and lines of others after them', () => {
  const head = { origin: 'a b+c', size: 3, root: new Uint8Array(32) };
  const text = treeHeadText(head);
  assert.deepEqual(parseTreeHead(text), head);
  assert.deepEqual(parseTreeHead(`${text}extension\nanother\n`), head);
  const wrong = [
    '',
    '\n',
    text.slice(0, -1),
    `${text}\n`,
    `${text}a\n\nb\n`,
    text.replace('a b+c', ''),
    text.replace('3', '03'),
    text.replace(HASH, HASH.slice(4)),
    text.replace(HASH, ` ${HASH}`),
    text.replaceAll('\n', '\r\n'),
    'a\n3\n',
  ];
  for (const one of wrong) assert.equal(parseTreeHead(one), null, JSON.stringify(one));
  assert.equal(parseCheckpoint(`${text}\n${SIGNATURE}\n`)?.size, 3);
  assert.equal(parseCheckpoint(NOTE), null);
});

test('proofs: extra octets, no hash, 63 hashes', () => {
  const checkpoint = exampleText('checkpoint.txt');
  for (const hashes of [0, 1, 63]) {
    for (const extra of [null, new Uint8Array(0), Uint8Array.of(1, 2)]) {
      const proof = {
        index: 7,
        hashes: Array.from({ length: hashes }, () => new Uint8Array(32)),
        checkpoint,
        extra,
      };
      assert.deepEqual(parseLogProof(printLogProof(proof)), proof);
    }
  }
  const text = exampleText('entry-1.tlog-proof');
  const wrong = [
    '',
    text.replace('@v1', '@v2'),
    text.replace('index 1', 'index 01'),
    text.replace('index 1', 'Index 1'),
    text.replace('index 1\n', ''),
    text.replace('index 1\n', 'index 1\nextra AA==\n'),
    text.replace('index 1\n', 'extra A\nindex 1\n'),
    text.replace('index 1\n', 'extra AA==\nextra AA==\nindex 1\n'),
    text.replace('INn0d8', 'INn0d8 '),
    text.replace('index 1\n', `index 1\n${`${HASH}\n`.repeat(61)}`),
    text.replaceAll('\n', '\r\n'),
    text.slice(0, text.indexOf('\n\n')),
  ];
  for (const one of wrong) assert.equal(parseLogProof(one), null, JSON.stringify(one.slice(0, 60)));
});

test('no damage of one octet throws, and what is still read is written again', () => {
  const texts = ['checkpoint.txt', 'entry-1.tlog-proof'].map(exampleText);
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.nat(483), fc.string({ maxLength: 2 }), (text, at, by) => {
      const damaged = text.slice(0, at) + by + text.slice(at + 1);
      const note = parseNote(damaged);
      if (note) assert.equal(printNote(note), damaged);
      const proof = parseLogProof(damaged);
      if (proof) assert.equal(printLogProof(proof), damaged);
      const checkpoint = parseCheckpoint(damaged);
      if (checkpoint) assert.ok(checkpoint.note.text.startsWith(treeHeadText(checkpoint)));
    }),
    { numRuns: 2000 },
  );
});

const PATHS: readonly (readonly [string, Tile])[] = [
  ['tile/0/000', { level: 0, n: 0, width: 256 }],
  ['tile/0/x003/906.p/64', { level: 0, n: 3906, width: 64 }],
  ['tile/63/x001/x234/067', { level: 63, n: 1_234_067, width: 256 }],
  ['tile/entries/x001/000.p/255', { level: 'entries', n: 1000, width: 255 }],
  ['tile/1/x009/x007/x199/x254/x740/991', { level: 1, n: Number.MAX_SAFE_INTEGER, width: 256 }],
];

test('paths of tiles, both ways', () => {
  for (const [path, tile] of PATHS) {
    assert.equal(tilePath(tile), path);
    assert.deepEqual(parseTilePath(path), tile);
  }
  const wrong = [
    '',
    'tile/0',
    '/tile/0/000',
    'tile/00/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/data/000',
    'tile/0/0',
    'tile/0/0000',
    'tile/0/x000/001',
    'tile/0/003/906',
    'tile/0/x003/x906',
    'tile/0/X003/906',
    'tile/0/x009/x007/x199/x254/x740/992',
    'tile/0/x001/x009/x007/x199/x254/x740/991',
    'tile/0/000.p/0',
    'tile/0/000.p/01',
    'tile/0/000.p/256',
    'tile/0/000.p/999',
    'tile/0/000.p/',
    'tile/0/000/',
    'tile/0/000\n',
    'tile/0/../0/000',
    'tile/0/%30%30%30',
  ];
  for (const path of wrong) assert.equal(parseTilePath(path), null, path);
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 1, max: 256 }), fc.nat(63), (n, width, level) => {
      assert.deepEqual(parseTilePath(tilePath({ level, n, width })), { level, n, width });
    }),
  );
});

test('widths of tiles are those of the example in tlog-tiles: 70,000 leaves', () => {
  assert.deepEqual(
    [tileWidth(0, 272, 70_000), tileWidth(0, 273, 70_000), tileWidth(0, 274, 70_000)],
    [256, 112, 0],
  );
  assert.deepEqual([tileWidth(1, 0, 70_000), tileWidth(1, 1, 70_000)], [256, 17]);
  assert.deepEqual([tileWidth(2, 0, 70_000), tileWidth(3, 0, 70_000)], [1, 0]);
  assert.deepEqual([tileWidth(0, 0, 256), tileWidth(0, 1, 256), tileWidth(1, 0, 256)], [256, 0, 1]);
  assert.equal(tileWidth('entries', 3906, 1_000_000), 64);
  assert.equal(tileWidth(63, 0, Number.MAX_SAFE_INTEGER), 0);
});

test('the tiles of a proof hold all hashes that its subtrees cover', () => {
  assert.deepEqual(storedHashes({ level: 9, index: 3 }), { level: 1, first: 6, count: 2 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 40 }), fc.nat(), (size, seed) => {
      const index = seed % size;
      const subtrees: readonly Subtree[] = inclusionSubtrees(index, size).flat();
      const tiles = tilesOf(subtrees, size);
      assert.equal(new Set(tiles.map(tilePath)).size, tiles.length);
      for (const subtree of subtrees) {
        const { level, first, count } = storedHashes(subtree);
        const tile = tiles.find((one) => one.level === level && one.n === Math.floor(first / 256));
        assert.ok(tile && (first % 256) + count <= tile.width);
      }
    }),
  );
});

test('bundles: leaves of every length, and octets that are no bundle', () => {
  const longest = new Uint8Array(TILE_LEAF_OCTETS).fill(7);
  const leaves = [new Uint8Array(0), Uint8Array.of(1), longest];
  const bundle = encodeEntries(leaves);
  assert.deepEqual(decodeEntries(bundle, 3), leaves);
  for (const width of [0, 2, 4]) assert.equal(decodeEntries(bundle, width), null);
  assert.equal(decodeEntries(bundle.subarray(0, -1), 3), null);
  assert.equal(decodeEntries(Buffer.concat([bundle, Buffer.of(0)]), 3), null);
  assert.equal(decodeEntries(Uint8Array.of(0), 1), null);
  assert.deepEqual(decodeEntries(new Uint8Array(0), 0), []);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(5), (octets, width) => {
      const read = decodeEntries(octets, width);
      if (read) assert.deepEqual(new Uint8Array(encodeEntries(read)), octets);
    }),
  );
  assert.equal(decodeTile(new Uint8Array(63), 2), null);
  assert.deepEqual(decodeTile(new Uint8Array(64), 2), [new Uint8Array(32), new Uint8Array(32)]);
});

test('a signature line that is made is read', () => {
  const key = parseVerifierKey(KEY.replace('00000000', '0a0b0c0d'))!;
  const made = noteSignature(key, Uint8Array.of(1, 2, 3));
  assert.deepEqual(parseSignatureLines(`${made.line}\n`), [made]);
});
