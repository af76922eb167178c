import { LIMITS } from '../../../src/base/limits.ts';
import type { Random } from '../random.ts';

/** Nine octets: twelve letters of Base64, whatever follows. */
const MARK = 'payload: ';
const MARK_BASE64 = Buffer.from(MARK).toString('base64');
const NUMBER = 6;

/** Payloads that no write has twice, and that can be found in files, messages and memory, as they are and in Base64. */
export interface Payloads {
  /** Base64. */
  next(random: Random): string;
}

export function createPayloads(): Payloads {
  let count = 0;
  return {
    next(random) {
      const head = MARK + (++count).toString(36).padStart(NUMBER, '0');
      const most = LIMITS.recordData - head.length;
      const filler = random.chance(0.05) ? most : random.between(0, 40);
      return Buffer.from(head + 'x'.repeat(filler)).toString('base64');
    },
  };
}

/** Number of a payload. @param data Base64 */
export function payloadNumber(data: string): number {
  return Number.parseInt(
    Buffer.from(data, 'base64')
      .subarray(MARK.length, MARK.length + NUMBER)
      .toString('latin1'),
    36,
  );
}

/** Numbers of all payloads that these octets have. */
export function payloadsIn(octets: Uint8Array): ReadonlySet<number> {
  const found = new Set<number>();
  const buffer = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
  for (let at = buffer.indexOf(MARK); at >= 0; at = buffer.indexOf(MARK, at + 1)) {
    found.add(numberOf(buffer.subarray(at + MARK.length, at + MARK.length + NUMBER).toString('latin1')));
  }
  for (let at = buffer.indexOf(MARK_BASE64); at >= 0; at = buffer.indexOf(MARK_BASE64, at + 1)) {
    const begin = at + MARK_BASE64.length;
    const text = buffer.subarray(begin, begin + (NUMBER * 4) / 3).toString('latin1');
    found.add(numberOf(Buffer.from(text, 'base64').toString('latin1')));
  }
  found.delete(Number.NaN);
  return found;
}

const numberOf = (text: string): number =>
  /^[0-9a-z]{6}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
