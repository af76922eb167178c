import { InputError } from './output.ts';

const NEWLINE = 0x0a;

/**
 * The lines of a UTF-8 stream, without LF or CRLF. Holds at most one chunk and one line. Throws InputError once a line
 * exceeds `max` octets.
 */
export async function* readLines(input: AsyncIterable<Buffer | string>, max: number): AsyncGenerator<string> {
  let held = Buffer.alloc(0);
  let line = 1;
  for await (const part of input) {
    const chunk = typeof part === 'string' ? Buffer.from(part) : part;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      checkLength(held.length + end - start, line, max);
      yield textOf(Buffer.concat([held, chunk.subarray(start, end)]));
      held = Buffer.alloc(0);
      start = end + 1;
      line++;
    }
    checkLength(held.length + chunk.length - start, line, max);
    held = Buffer.concat([held, chunk.subarray(start)]);
  }
  if (held.length > 0) yield textOf(held);
}

function checkLength(octets: number, line: number, max: number): void {
  if (octets > max) throw new InputError(`line ${line} is longer than ${max} octets`);
}

function textOf(line: Buffer): string {
  return line.toString('utf8').replace(/\r$/, '');
}
