/** What differs between two values, for a terminal. */
import { isUtf8 } from 'node:buffer';
import { escapeControls } from '../output.ts';

/** Lines of one value that are compared: a record has 2,586 octets at most. */
const LINES_MAX = 3_000;

/** Lines with `-`, `+` or two spaces. Values that are no text are described by their sizes. */
export function diffLines(before: Buffer, after: Buffer, contentType: string): readonly string[] {
  if (!isUtf8(before) || !isUtf8(after)) return [`  (octets: ${before.length} -> ${after.length})`];
  const [from, to] = [before, after].map((data) => linesOf(data.toString('utf8'), contentType)) as [
    string[],
    string[],
  ];
  if (from.length > LINES_MAX || to.length > LINES_MAX) return [`  (${from.length} -> ${to.length} lines)`];
  return merged(from, to).map(escapeControls);
}

/** JSON is compared with one member on each line. */
function linesOf(text: string, contentType: string): string[] {
  if (text === '') return [];
  if (/[/+]json\b/.test(contentType)) {
    try {
      return JSON.stringify(JSON.parse(text), null, 2).split('\n');
    } catch {
      // Compared as the text that it is.
    }
  }
  return text.replace(/\n$/, '').split('\n');
}

/** The shortest way from one list of lines to another, by their longest common subsequence. */
function merged(from: readonly string[], to: readonly string[]): string[] {
  const width = to.length + 1;
  const common = new Uint16Array((from.length + 1) * width);
  for (let i = from.length - 1; i >= 0; i--) {
    for (let j = to.length - 1; j >= 0; j--) {
      common[i * width + j] =
        from[i] === to[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < from.length || j < to.length) {
    if (i < from.length && j < to.length && from[i] === to[j]) {
      lines.push(`    ${from[i++]}`);
      j++;
    } else if (
      i < from.length &&
      (j === to.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
    ) {
      lines.push(`  - ${from[i++]}`);
    } else lines.push(`  + ${to[j++]}`);
  }
  return lines;
}
