/** What differs between two values of a record, for a terminal. */
import { isUtf8 } from 'node:buffer';
import { diffLines } from '../protocol/line-diff.ts';

/** Lines with `-`, `+` or a space before them; JSON is laid out first. Of octets that are no text, what differs first. */
export function diffOf(before: Buffer, after: Buffer): string[] {
  if (before.equals(after)) return [];
  if (!isUtf8(before) || !isUtf8(after)) {
    const at = before.findIndex((octet, index) => octet !== after[index]);
    return [
      `octets differ from ${at < 0 ? before.length : at} on: ${before.length} -> ${after.length} bytes`,
    ];
  }
  return diffLines(linesOf(before), linesOf(after)).map(({ mark, text }) => `${mark} ${text}`);
}

function linesOf(octets: Buffer): string[] {
  const text = octets.toString().replace(/\n$/, '');
  if (text === '') return [];
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n');
  } catch {
    return text.split('\n');
  }
}
