/** What differs between two values of a record, for a terminal. */
import { isUtf8 } from 'node:buffer';

/** Lines with `-`, `+` or a space before them; JSON is laid out first. Of octets that are no text, what differs first. */
export function diffOf(before: Buffer, after: Buffer): string[] {
  if (before.equals(after)) return [];
  if (!isUtf8(before) || !isUtf8(after)) {
    const at = before.findIndex((octet, index) => octet !== after[index]);
    return [
      `octets differ from ${at < 0 ? before.length : at} on: ${before.length} -> ${after.length} bytes`,
    ];
  }
  return diffLines(linesOf(before), linesOf(after));
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

/** By the longest common subsequence. A record has at most some thousand lines. */
function diffLines(a: readonly string[], b: readonly string[]): string[] {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(`  ${a[i]}`);
      i++;
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)
    ) {
      lines.push(`- ${a[i]}`);
      i++;
    } else {
      lines.push(`+ ${b[j]}`);
      j++;
    }
  }
  return lines;
}
