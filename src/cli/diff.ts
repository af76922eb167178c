/** What differs between two values of a record, for a terminal. */
import { isUtf8 } from 'node:buffer';
import { diffLines } from '../protocol/line-diff.ts';

/**
 * Lines with `-`, `+` or a space before them; JSON is laid out first. One line says so where that leaves no line that differs. Of octets that
 * are no text, what differs first.
 */
export function diffOf(before: Buffer, after: Buffer): string[] {
  if (before.equals(after)) return [];
  if (!isUtf8(before) || !isUtf8(after)) {
    const at = before.findIndex((octet, index) => octet !== after[index]);
    return [
      `octets differ from ${at < 0 ? before.length : at} on: ${before.length} -> ${after.length} bytes`,
    ];
  }
  const lines = diffLines(linesOf(before), linesOf(after));
  if (lines.some(({ mark }) => mark !== ' ')) return lines.map(({ mark, text }) => `${mark} ${text}`);
  const sizes = `${before.length} -> ${after.length} bytes`;
  // Equal JSON may also have other escapes, or its numbers written otherwise.
  return [
    `only ${isSameButSpace(before, after) ? 'white space' : 'the notation of the JSON'} differs: ${sizes}`,
  ];
}

function isSameButSpace(before: Buffer, after: Buffer): boolean {
  const [a, b] = [before, after].map((octets) => octets.toString().replaceAll(/\s/g, ''));
  return a === b;
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
