/**
 * What SQLite leaves behind in its file. With `secure_delete` it overwrites what is deleted, but not the copies of rows that it has moved to
 * another page: they stay in the unused part of the page where they were, and the deletion of the row does not reach them.
 */
import { type Files, type OpenFile, systemFiles } from '../../base/files.ts';
import { pause, type Timers } from '../../base/lifecycle/timers.ts';
import { isBusy } from '../engine/engine-errors.ts';
import { type Database, SqliteConnection } from './driver.ts';

/** Octets of the file that one call looks through, and that it reads at once. */
const CALL_OCTETS = 8 << 20;
const PIECE_OCTETS = 1 << 20;
/** Milliseconds for other work between two pieces. */
const PAUSE_MS = 1;

/** Of the header of the file (sqlite.org/fileformat2.html#the_database_header). */
const HEADER_OCTETS = 100;
const PAGE_SIZE_AT = 16;
const RESERVED_AT = 20;
const AUTO_VACUUM_AT = 52;

/** Types of pages with cells, by their first octet, and where the places of the cells begin. */
const CELLS_AT: ReadonlyMap<number, number> = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
]);
/** Pages of all other kinds begin with the number of another page: below this one its first octet is none of those types. */
const PAGES_MAX = 2 << 24;

interface Layout {
  readonly pageSize: number;
  /** Octets of a page that SQLite uses. */
  readonly usable: number;
}

interface LeftoversOptions {
  readonly file: string;
  readonly connect: (file: string, options: { readonly timeout: number }) => Database;
  /** Runs the task while no connection of this process has a transaction that writes. */
  readonly between: <T>(task: () => T) => Promise<T>;
  /** Moves everything from the log into the file. @returns false: a reader or writer is in the way */
  readonly checkpoint: () => boolean;
  readonly timers: Timers;
  readonly files?: Files;
}

export interface Leftovers {
  /** Somebody has written: the whole file is looked through once more. */
  written(): void;
  /** Looks through the next 8 MiB, and overwrites what is left behind there. Where another process is in the way, the next call begins there. */
  erase(): Promise<void>;
  /** Called after all connections are closed: the system gives up their locks when a process closes the file. */
  close(): void;
}

export function createLeftovers(options: LeftoversOptions): Leftovers {
  const { file, connect, between, checkpoint, timers, files = systemFiles } = options;
  let opened: OpenFile | null = null;
  let isClosed = false;
  /** Pages that are still to be looked through; what the last process has left is among them. */
  let left = Number.POSITIVE_INFINITY;
  /** Index of the next one. */
  let next = 0;

  function layoutOf(pages: OpenFile): (Layout & { readonly count: number }) | null {
    const header = Buffer.alloc(HEADER_OCTETS);
    if (pages.read(header, 0) < HEADER_OCTETS) return null;
    const stated = header.readUInt16BE(PAGE_SIZE_AT);
    const pageSize = stated === 1 ? 65_536 : stated;
    const count = Math.floor(pages.size() / pageSize);
    // Its map of pages has pages of one more kind.
    if (header.readUInt32BE(AUTO_VACUUM_AT) !== 0 || count >= PAGES_MAX) return null;
    return { pageSize, usable: pageSize - header[RESERVED_AT]!, count };
  }

  /** Indices of pages with something left behind, of a piece that begins with page `first`. */
  function found(piece: Buffer, first: number, layout: Layout): number[] {
    const { pageSize } = layout;
    const indices: number[] = [];
    for (let at = 0; at + pageSize <= piece.length; at += pageSize) {
      const index = first + at / pageSize;
      if (leftIn(piece.subarray(at, at + pageSize), index, layout) !== null) indices.push(index);
    }
    return indices;
  }

  /**
   * The lock of the writer is held, and the log is empty: so nothing can be written to the file by anybody else. What is overwritten is of no page's
   * content, so those who read need not wait.
   * @returns false: another process is in the way
   */
  function overwrite(pages: OpenFile, indices: readonly number[], layout: Layout): boolean {
    // It may have been written to since the call began.
    if (!checkpoint()) return false;
    const connection = new SqliteConnection(connect(file, { timeout: 0 }));
    try {
      connection.run('begin immediate');
      if ((files.facts(`${file}-wal`)?.octets ?? 0) > 0) return false;
      const page = Buffer.alloc(layout.pageSize);
      for (const index of indices) {
        const at = index * layout.pageSize;
        const gap = pages.read(page, at) === page.length ? leftIn(page, index, layout) : null;
        if (gap !== null) pages.write(Buffer.alloc(gap.end - gap.start), at + gap.start);
      }
      pages.sync();
      // A commit: other connections have those pages in memory, and would write them back. Now each of them reads them again.
      const [row] = connection.run('pragma user_version') as { user_version: number }[];
      connection.run(`pragma user_version = ${(row!.user_version + 1) & 0x7fffffff}`);
      connection.run('commit');
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    } finally {
      if (connection.inTransaction) connection.run('rollback');
      connection.close();
    }
  }

  return {
    written() {
      left = Number.POSITIVE_INFINITY;
    },
    async erase() {
      if (left === 0 || isClosed) return;
      opened ??= files.open(file, 'r+');
      const pages = opened;
      const layout = layoutOf(pages);
      if (layout === null) return;
      const { pageSize, count } = layout;
      for (let looked = 0; looked < CALL_OCTETS && left > 0; ) {
        if (looked > 0) await pause(timers, PAUSE_MS);
        if (isClosed) return;
        if (next >= count) next = 0;
        left = Math.min(left, count);
        const some = Math.min(left, count - next, PIECE_OCTETS / pageSize);
        const piece = Buffer.alloc(some * pageSize);
        const octets = pages.read(piece, next * pageSize);
        const indices = found(piece.subarray(0, octets), next, layout);
        if (indices.length > 0 && !(await between(() => overwrite(pages, indices, layout)))) return;
        next += some;
        left -= some;
        looked += piece.length;
      }
    },
    close() {
      isClosed = true;
      opened?.close();
    },
  };
}

const ZEROS = Buffer.alloc(65_536);

/** The unused part of a page where it is not empty. The first page of a file has nothing but names of tables. */
function leftIn(page: Buffer, index: number, { usable }: Layout) {
  const gap = index === 0 ? null : gapOf(page, usable);
  if (gap === null) return null;
  const { start, end } = gap;
  return page.subarray(start, end).equals(ZEROS.subarray(0, end - start)) ? null : gap;
}

/**
 * The octets between the places of the cells and the cells, which belong to neither (sqlite.org/fileformat2.html#b_tree_pages).
 * @param page any but the first
 * @returns null for a page without cells
 */
export function gapOf(page: Buffer, usable: number): { readonly start: number; readonly end: number } | null {
  const cellsAt = CELLS_AT.get(page[0]!);
  if (cellsAt === undefined) return null;
  const start = cellsAt + 2 * page.readUInt16BE(3);
  const end = page.readUInt16BE(5) || 65_536;
  return start <= end && end <= usable ? { start, end } : null;
}
