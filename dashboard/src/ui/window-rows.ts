/** Which rows of a long list are in the document. */

export interface RowWindow {
  /** First row, from 0. */
  readonly from: number;
  /** Row after the last. */
  readonly until: number;
}

/** Rows before and after the visible ones, so that scrolling shows no gap. */
const SPARE = 8;

export interface Scrolled {
  /** Pixels. */
  readonly top: number;
  readonly height: number;
  readonly rowHeight: number;
  readonly rows: number;
}

export function rowWindow({ top, height, rowHeight, rows }: Scrolled): RowWindow {
  const first = Math.floor(Math.max(0, top) / rowHeight);
  const visible = Math.ceil(height / rowHeight) + 1;
  const from = Math.max(0, Math.min(first - SPARE, rows - visible - SPARE));
  return { from, until: Math.min(rows, first + visible + SPARE) };
}
