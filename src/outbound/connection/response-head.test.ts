import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HEAD_MAX, readHead } from './response-head.ts';

const octets = (text: string): Buffer => Buffer.from(text, 'latin1');
const OK = 'HTTP/1.1 200 OK\r\n';

describe('the head of a response', () => {
  it('is whole, not yet, or never', () => {
    const table: readonly [text: string, verdict: number | 'malformed' | null][] = [
      ['', null],
      ['H', null],
      ['HTTP/1.1 200 OK\r\n', null],
      ['HTTP/1.1 200 OK\r\n\r', null],
      ['HTTP/1.1 200 OK\r\n\r\n', 200],
      ['HTTP/1.0 599\r\n\r\nand more', 599],
      ['HTTP/1.1 100 Continue\r\n\r\n', 100],
      ['HTTP/1.1 099 Low\r\n\r\n', 'malformed'],
      ['HTTP/1.1 600 High\r\n\r\n', 'malformed'],
      ['HTTP/1.2 200 OK\r\n\r\n', 'malformed'],
      ['http/1.1 200 OK\r\n\r\n', 'malformed'],
      ['G', 'malformed'],
      ['\r\n', 'malformed'],
      [`${OK}A: b\r\n\r\n`, 200],
      [`${OK}A:\r\n\r\n`, 200],
      [`${OK}A b: c\r\n\r\n`, 'malformed'],
      [`${OK}A: b\n\r\n\r\n`, 'malformed'],
      [`${OK}A: b\0\r\n\r\n`, 'malformed'],
      [`${OK}Content-Length: 1\r\ncontent-length: 1\r\n\r\n`, 'malformed'],
    ];
    for (const [text, verdict] of table) {
      const head = readHead(octets(text));
      assert.equal(typeof head === 'object' && head !== null ? head.status : head, verdict, text);
    }
  });

  it('has fields without the white space around their values, the first of a name before later ones', () => {
    const head = readHead(
      octets(
        `${OK}Retry-After: \t 5 \r\nX: a: b\r\nretry-after: 6\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n`,
      ),
    );
    assert.ok(head !== null && head !== 'malformed');
    assert.deepEqual({ ...head.headers }, { 'retry-after': '5', x: 'a: b', 'set-cookie': ['a', 'b'] });
  });

  it('has a largest size', () => {
    const padded = (size: number): Buffer =>
      octets(`${OK}X: ${'x'.repeat(size - OK.length - 'X: \r\n\r\n'.length)}\r\n\r\n`);
    assert.ok(typeof readHead(padded(HEAD_MAX)) === 'object');
    assert.equal(readHead(padded(HEAD_MAX + 1)), 'malformed');
    assert.equal(readHead(octets(OK.padEnd(HEAD_MAX - 1, 'x'))), null);
    assert.equal(readHead(octets(OK.padEnd(HEAD_MAX, 'x'))), 'malformed');
  });

  it('is the same however it arrives, and nothing that arrives throws', () => {
    const noise = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
    const line = fc.oneof(noise, fc.constantFrom('A: b', 'Retry-After: 3', 'HTTP/1.1 200 OK', ''));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), fc.nat({ max: 200 }), (lines, cut) => {
        const whole = octets(`${OK}${lines.join('\r\n')}\r\n\r\n`);
        const at = Math.min(cut, whole.length);
        const early = readHead(whole.subarray(0, at));
        if (early !== null) assert.deepEqual(early, readHead(whole));
      }),
    );
  });
});
