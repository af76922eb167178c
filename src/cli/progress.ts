import { basename } from 'node:path';
import { escapeControls } from './output.ts';

/** What a progress line is written to. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface Progress {
  /** Units done so far, and in all. */
  readonly show: (done: number, total: number) => void;
  /** Removes the line. */
  readonly clear: () => void;
}

const INTERVAL_MS = 100;
const BAR_CELLS = 24;
const COLUMNS = 80;
/** Returns to the first column and erases the line (ECMA-48: CR, EL). */
const ERASE = '\r\u001b[2K';

/**
 * One line on a terminal that shows how much of a file is done. Writes nothing to a pipe or a file.
 * @param now milliseconds of a clock that never goes back
 */
export function progressOn(terminal: Terminal, file: string, now = () => performance.now()): Progress {
  if (terminal.isTTY !== true) return { show: () => {}, clear: () => {} };
  const label = escapeControls(basename(file));
  let next = now() + INTERVAL_MS;
  let isShown = false;
  return {
    show(done, total) {
      if (now() < next) return;
      next = now() + INTERVAL_MS;
      isShown = true;
      const line = `${bar(done, total)}  ${label}`;
      // A longer line would wrap, and only its last row could be erased.
      terminal.write(ERASE + line.slice(0, (terminal.columns ?? COLUMNS) - 1));
    },
    clear() {
      if (isShown) terminal.write(ERASE);
      isShown = false;
    },
  };
}

function bar(done: number, total: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const cells = Math.floor(part * BAR_CELLS);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(cells)}${'.'.repeat(BAR_CELLS - cells)}] ${percent} %`;
}
