import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hexDump, imageType, utf8, viewsOf } from './payload.ts';

function octets(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

describe('views of the data', () => {
  it('offers what the octets and the type allow, the best first', () => {
    assert.deepEqual(viewsOf(octets('hello'), 'text/plain'), ['text', 'hex']);
    assert.deepEqual(viewsOf(octets('{"a":1}'), 'text/plain'), ['json', 'text', 'hex']);
    assert.deepEqual(viewsOf(octets('12'), 'application/json'), ['text', 'hex']);
    assert.deepEqual(viewsOf(Uint8Array.of(0xff, 0x00), 'text/plain'), ['hex']);
    assert.deepEqual(viewsOf(Uint8Array.of(0x89, 0x50), 'image/png'), ['image', 'hex']);
    assert.deepEqual(viewsOf(octets('<svg/>'), 'image/svg+xml'), ['image', 'text', 'hex']);
    assert.deepEqual(viewsOf(new Uint8Array(), 'text/plain'), ['text', 'hex']);
  });

  it('knows images by their type alone', () => {
    assert.equal(imageType('Image/PNG; x=1'), 'image/png');
    assert.equal(imageType('image/tiff'), null);
    assert.equal(imageType('text/html'), null);
  });

  it('decodes UTF-8 strictly, with its byte order mark', () => {
    assert.equal(utf8(Uint8Array.of(0xc3, 0x28)), null);
    assert.equal(utf8(octets('\uFEFFx')), '\uFEFFx');
  });

  it('dumps 16 octets a line', () => {
    assert.equal(
      hexDump(octets('0123456789abcdef!')).split('\n')[1]?.trimEnd(),
      `00000010  21${' '.repeat(45)}  !`,
    );
    assert.equal(hexDump(new Uint8Array()), '');
    assert.equal(hexDump(new Uint8Array(2586)).split('\n').length, 162);
  });
});
