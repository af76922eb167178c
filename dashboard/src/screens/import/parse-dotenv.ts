import { textToBase64 } from '../records/record-rules.ts';
import { type Row, refused } from './candidate.ts';

/** `NAME=VALUE` at the start of a line. */
const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=[ \t]*/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', $: '$', '\\': '\\' };
/** Characters of a value: more than a record takes. */
const VALUE_MAX = 8192;

/**
 * A .env file: each variable becomes the record `<name>.<place>`, with the name in lower case and hyphens for its
 * underscores and dots. Values in double quotes may have escapes and several lines; `#` begins a comment.
 * @param place such as `env.acme.v1`
 */
export function parseDotenv(text: string, place: string): readonly Row[] {
  const rows: Row[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = at + 1;
    const content = lines[at]!;
    if (/^\s*(?:#|$)/.test(content)) continue;
    const found = ASSIGNMENT.exec(content);
    if (found === null) {
      rows.push(refused(line, 'syntax'));
      continue;
    }
    const key = `${labelOf(found[1]!)}.${place}`;
    const rest = content.slice(found[0].length);
    const value = isQuote(rest[0]) ? quoted(rest, lines, at) : plain(rest);
    if (value === null) {
      rows.push(refused(line, 'syntax', key));
      continue;
    }
    at += value.lines - 1;
    const data = textToBase64(value.text);
    rows.push({ line, record: { key, data, content_type: 'text/plain' }, refusal: null });
  }
  return rows;
}

function labelOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[_.-]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

function isQuote(letter: string | undefined): boolean {
  return letter === '"' || letter === "'" || letter === '`';
}

interface Value {
  readonly text: string;
  readonly lines: number;
}

function plain(rest: string): Value {
  return { text: rest.replace(/(?:^|\s)#.*$/, '').trim(), lines: 1 };
}

/** Null when the quotation mark at the end is missing or too far away, or something follows it. */
function quoted(first: string, lines: readonly string[], from: number): Value | null {
  const mark = first[0];
  let content = first;
  let text = '';
  let read = 0;
  for (let at = 1; text.length <= VALUE_MAX; at += 1) {
    if (at >= content.length) {
      read += 1;
      const next = lines[from + read];
      if (next === undefined) return null;
      text += '\n';
      content = next;
      at = -1;
      continue;
    }
    const letter = content[at]!;
    if (letter === mark) {
      const isEnd = /^\s*(?:#.*)?$/.test(content.slice(at + 1));
      return isEnd ? { text, lines: read + 1 } : null;
    }
    if (letter === '\\' && mark === '"' && at + 1 < content.length) {
      at += 1;
      text += ESCAPES[content[at]!] ?? `\\${content[at]!}`;
    } else text += letter;
  }
  return null;
}
