import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeBase64 } from '../../../../src/protocol/encodings.ts';
import { previewOf, typeWord } from './record-value.ts';

const preview = (octets: readonly number[] | string, type = 'text/plain') =>
  previewOf(
    encodeBase64(typeof octets === 'string' ? new TextEncoder().encode(octets) : Uint8Array.from(octets)),
    type,
  );

describe('the value of a record in one line', () => {
  it('is its text, JSON without white space, or octets', () => {
    assert.deepEqual(preview('on'), { kind: 'text', text: 'on', line: 'on' });
    assert.deepEqual(preview(''), { kind: 'empty', text: '', line: '' });
    assert.deepEqual(preview('{ "a": 12345678901234567890,\n "b c": [1] }'), {
      kind: 'json',
      text: '{"a":12345678901234567890,"b c":[1]}',
      line: null,
    });
    assert.deepEqual(preview([255, 1, 10]), { kind: 'hex', text: 'ff 01 0a', line: null });
    assert.equal(preview([0, 97]).kind, 'hex');
    assert.equal(preview(Array.from({ length: 25 }, () => 255)).text, `${'ff '.repeat(24)}…`);
    assert.deepEqual(
      [preview('x'.repeat(200)).line?.length, preview('x'.repeat(201)).line, preview('a\nb').line],
      [200, null, null],
    );
    assert.equal(preview('x'.repeat(2_586)).text, `${'x'.repeat(200)}…`);
  });

  it('is a picture, with its size where it is a PNG', () => {
    const png = [
      0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 16, 0, 0, 1, 0,
    ];
    assert.deepEqual(
      [preview(png, 'image/png').kind, preview(png, 'image/png').text],
      ['image', '16 × 256 PNG'],
    );
    assert.equal(preview('<svg/>', 'image/svg+xml; charset=utf-8').text, 'SVG');
    assert.match(preview('<svg/>', 'image/svg+xml').image!, /^data:image\/svg\+xml;base64,/);
  });

  it('says that it is encrypted or signed, and by which key', () => {
    const sealed = (form: number, octets: number): number[] => [
      form,
      ...Array(8).fill(0xab),
      ...Array(octets - 9).fill(0),
    ];
    const of = (octets: number[]) => preview(octets, 'application/octet-stream');
    assert.deepEqual(of(sealed(2, 43)), { kind: 'encrypted', text: 'ab'.repeat(8), line: null });
    assert.equal(of(sealed(2, 42)).kind, 'hex');
    assert.equal(of(sealed(3, 79)).kind, 'signed');
    assert.equal(of(sealed(3, 78)).kind, 'hex');
    assert.equal(preview(sealed(2, 43), 'image/x').kind, 'hex');
  });

  it('has a short word for its type', () => {
    assert.deepEqual(['text/plain; charset=utf-8', 'application/json', 'text/html', 'x'].map(typeWord), [
      'text',
      'json',
      'html',
      'x',
    ]);
  });
});
