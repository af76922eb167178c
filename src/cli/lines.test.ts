import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { InputError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { readLines } from './actions/transfer.ts';

async function collect(input: Readable, max: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(input, max)) lines.push(line);
  return lines;
}

async function linesOf(parts: readonly string[], max = 8): Promise<string[]> {
  return await collect(Readable.from(parts.map((part) => Buffer.from(part))), max);
}

describe('readLines', () => {
  it('finds lines across chunks, with either line end, and the last one without', async () => {
    assert.deepEqual(await linesOf(['a', 'b\nc\r\n\n', 'd', 'e']), ['ab', 'c', '', 'de']);
    assert.deepEqual(await linesOf([]), []);
  });

  it('keeps a character whole that comes in two chunks', async () => {
    const octets = Buffer.from('\u00e4\n');
    const input = Readable.from([octets.subarray(0, 1), octets.subarray(1)]);
    assert.deepEqual(await collect(input, 8), ['\u00e4']);
  });

  it('takes a line of the bound, and refuses a longer one by its number', async () => {
    assert.deepEqual(await linesOf(['1\n12345678\n']), ['1', '12345678']);
    await assert.rejects(linesOf(['1\n123456789\n']), new InputError('line 2 is longer than 8 octets'));
  });

  it('stops reading an endless line instead of holding it (security finding 12)', async () => {
    let chunks = 0;
    const endless = async function* () {
      for (;;) {
        chunks++;
        yield Buffer.alloc(1024, 0x61);
      }
    };
    const reading = async () => {
      for await (const line of readLines(endless(), LIMITS.importLine)) assert.fail(line);
    };
    await assert.rejects(reading(), InputError);
    assert.equal(chunks, LIMITS.importLine / 1024 + 1);
  });
});
