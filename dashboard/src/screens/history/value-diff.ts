/** What differs between two values of a record, as lines to show. */
import { type DiffLine, diffLines } from '../../../../src/protocol/line-diff.ts';
import { formatted, isJson } from '../records/json-text.ts';
import { hexDump, utf8 } from '../records/payload.ts';

export interface ValueDiff {
  /** How the values were read. */
  readonly form: 'json' | 'text' | 'octets';
  /** Empty: the octets are the same. */
  readonly lines: readonly ShownLine[];
}

/** A line, or a number of equal lines that are left out. */
export type ShownLine = DiffLine | { readonly mark: '…'; readonly left: number };

/** Equal lines that stay before and after a difference. */
const CONTEXT = 3;

export function valueDiff(before: Uint8Array, after: Uint8Array): ValueDiff {
  const [a, b] = [utf8(before), utf8(after)];
  if (a === null || b === null)
    return { form: 'octets', lines: folded(diffLines(linesOf(hexDump(before)), linesOf(hexDump(after)))) };
  if (a === b) return { form: 'text', lines: [] };
  if (isJson(a) && isJson(b)) {
    const [laid, out] = [formatted(a), formatted(b)];
    // The same members in other white space: then the text is what differs.
    if (laid !== out) return { form: 'json', lines: folded(diffLines(linesOf(laid), linesOf(out))) };
  }
  return { form: 'text', lines: folded(diffLines(linesOf(a), linesOf(b))) };
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

/** Long runs of equal lines become one that says how many they are. */
function folded(lines: readonly DiffLine[]): readonly ShownLine[] {
  const shown: ShownLine[] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at]!.mark !== ' ') {
      shown.push(lines[at]!);
      at += 1;
      continue;
    }
    let end = at;
    while (lines[end]?.mark === ' ') end += 1;
    const from = at === 0 ? at : at + CONTEXT;
    const until = end === lines.length ? end : end - CONTEXT;
    if (until - from < 2) shown.push(...lines.slice(at, end));
    else shown.push(...lines.slice(at, from), { mark: '…', left: until - from }, ...lines.slice(until, end));
    at = end;
  }
  return shown.some(({ mark }) => mark !== '…' && mark !== ' ') ? shown : [];
}
