import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';

const COLUMNS = [
  'id',
  'timestamp',
  'namespace',
  'resource',
  'version',
  'operation',
  'qtype',
  'status',
  'rcode',
  'transport',
  'node',
  'duration_ms',
] as const satisfies readonly (keyof QueryLogRow)[];

/** RFC 4180. */
export function toCsv(rows: readonly QueryLogRow[]): string {
  const lines = rows.map((row) => COLUMNS.map((column) => cell(row[column])).join(','));
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

export function toJsonLines(rows: readonly QueryLogRow[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

function cell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  // A spreadsheet runs a cell that begins so as a formula.
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
