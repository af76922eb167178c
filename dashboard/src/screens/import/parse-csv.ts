import { textToBase64 } from '../records/record-rules.ts';
import { type Row, refused, rowOf } from './candidate.ts';

/** One record of a CSV file (RFC 4180), and the line on which it begins. */
interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
  /** A quotation mark is missing at its end. */
  readonly isOpen: boolean;
}

/** Columns that hold text, which becomes Base64. `data` holds Base64. */
const TEXT_COLUMNS: ReadonlySet<string> = new Set(['text', 'value']);
const COLUMNS: ReadonlySet<string> = new Set([
  'key',
  'data',
  ...TEXT_COLUMNS,
  'content_type',
  'encoding',
  'ttl_seconds',
  'expires_in',
  'expires_at',
]);
const NUMBERS: ReadonlySet<string> = new Set(['ttl_seconds', 'expires_in']);

/**
 * CSV with a first row of column names: `key`, one of `data` (Base64), `text` and `value`, and perhaps the other fields
 * of a record. An empty cell means that the field is not given. Separated by commas, semicolons or tabs.
 */
export function parseCsv(text: string): readonly Row[] {
  const [head, ...records] = csvRecords(text.replace(/^\uFEFF/, ''));
  if (head === undefined) return [];
  const names = head.cells.map((name) => name.trim().toLowerCase());
  const values = names.filter((name) => name === 'data' || TEXT_COLUMNS.has(name));
  const isHead = names.includes('key') && values.length === 1 && names.every((name) => COLUMNS.has(name));
  if (!isHead || new Set(names).size < names.length) return [refused(head.line, 'columns')];
  return records.map((record) => rowOfCells(record, names));
}

function rowOfCells({ line, cells, isOpen }: CsvRecord, names: readonly string[]): Row {
  if (isOpen) return refused(line, 'syntax');
  if (cells.length !== names.length) return refused(line, 'columns', cells[names.indexOf('key')] ?? '');
  const fields: Record<string, unknown> = {};
  names.forEach((name, at) => {
    const cell = cells[at] ?? '';
    if (TEXT_COLUMNS.has(name)) {
      fields.data = textToBase64(cell);
      fields.content_type ??= 'text/plain';
    } else if (NUMBERS.has(name)) {
      if (cell !== '') fields[name] = /^[0-9]+$/.test(cell) ? Number(cell) : cell;
    } else if (cell !== '' || name === 'data') fields[name] = cell;
  });
  return rowOf(line, fields);
}

function separatorOf(text: string): string {
  const head = text.slice(0, text.search(/\r?\n|$/));
  const counts = [',', ';', '\t'].map((mark) => [head.split(mark).length, mark] as const);
  return counts.reduce((most, one) => (one[0] > most[0] ? one : most))[1];
}

function csvRecords(text: string): CsvRecord[] {
  const separator = separatorOf(text);
  const records: CsvRecord[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let begin = 1;
  const end = (isOpen: boolean): void => {
    const isEmpty = cells.length === 0 && cell === '';
    if (!isEmpty) records.push({ line: begin, cells: [...cells, cell], isOpen });
    cells = [];
    cell = '';
    begin = line;
  };
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!;
    if (letter === '\n') line += 1;
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (letter === '"' && cell === '') isQuoted = true;
    else if (letter === separator) {
      cells.push(cell);
      cell = '';
    } else if (letter === '\n') end(false);
    else if (letter !== '\r' || text[at + 1] !== '\n') cell += letter;
  }
  end(isQuoted);
  return records;
}
