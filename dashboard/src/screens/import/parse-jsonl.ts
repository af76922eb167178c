import { type Row, refused, rowOf } from './candidate.ts';

/** A record with full data in Base64 has less than half of that. */
const LINE_MAX = 8192;

/** JSON lines, as an export writes them. Empty lines are skipped. */
export function parseJsonl(text: string): readonly Row[] {
  const rows: Row[] = [];
  text.split(/\r?\n/).forEach((content, at) => {
    if (content.trim() === '') return;
    const line = at + 1;
    if (content.length > LINE_MAX) rows.push(refused(line, 'line_long'));
    else rows.push(parsedLine(line, content));
  });
  return rows;
}

function parsedLine(line: number, content: string): Row {
  try {
    return rowOf(line, JSON.parse(content));
  } catch {
    return refused(line, 'syntax');
  }
}
