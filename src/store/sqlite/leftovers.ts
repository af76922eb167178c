/**
 * What SQLite leaves behind in its file. With `secure_delete` it overwrites what is deleted, but not the copies of rows that it has moved to
 * another page: they stay in the unused part of the page where they were, and the deletion of the row does not reach them.
 */
import { type OpenFile, systemFiles } from '../../base/files.ts';
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

/** Of the log (sqlite.org/fileformat2.html#walformat). */
const LOG_HEADER_OCTETS = 32;
const FRAME_HEADER_OCTETS = 24;

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
  /** Pages of the file. */
  readonly count: number;
}

/** What became of the log. `moved`: pages that somebody has written are in the file now; `busy`: a reader or writer is in the way. */
export type Emptied = 'empty' | 'moved' | 'busy';

interface LeftoversOptions {
  readonly file: string;
  readonly connect: (file: string, options: { readonly timeout: number }) => Database;
  /** Runs the task while no connection of this process has a transaction that writes. */
  readonly between: <T>(task: () => T) => Promise<T>;
  /** Moves everything from the log into the file. */
  readonly checkpoint: () => Emptied;
  readonly timers: Timers;
}

export interface Leftovers {
  /** Somebody has written: the whole file is looked through once more. */
  written(): void;
  /**
   * Looks through the next 8 MiB, and overwrites what is left behind there.
   * @returns false: another process is in the way, and the next call begins there
   */
  erase(): Promise<boolean>;
  /** Called after all connections are closed: the system gives up their locks when a process closes the file. */
  close(): void;
}

export function createLeftovers(options: LeftoversOptions): Leftovers {
  const { file, connect, between, checkpoint, timers } = options;
  let opened: { readonly pages: OpenFile; readonly inode: number | undefined } | null = null;
  let isClosed = false;
  let isUnderWay = false;
  /** Pages that are still to be looked through; what the last process has left is among them. */
  let left = Number.POSITIVE_INFINITY;
  /** Index of the next one. */
  let next = 0;

  const inodeNow = (): number | undefined => systemFiles.facts(file)?.inode;
  const logOctets = (): number => systemFiles.facts(`${file}-wal`)?.octets ?? 0;

  /** Indices of the pages that have something left behind, of the next `count`. */
  async function lookThrough(pages: OpenFile, layout: Layout, count: number): Promise<number[]> {
    const { pageSize } = layout;
    const found: number[] = [];
    for (let looked = 0; looked < count; ) {
      if (looked > 0) await pause(timers, PAUSE_MS);
      if (isClosed) break;
      const first = (next + looked) % layout.count;
      const some = Math.min(count - looked, layout.count - first, PIECE_OCTETS / pageSize);
      const piece = Buffer.alloc(some * pageSize);
      const octets = pages.read(piece, first * pageSize);
      for (let at = 0; at + pageSize <= octets; at += pageSize) {
        const index = first + at / pageSize;
        if (leftIn(piece.subarray(at, at + pageSize), index, layout) !== null) found.push(index);
      }
      looked += some;
    }
    return found;
  }

  /**
   * The lock of the writer is held, and the log is empty: so nothing can be written to the file by anybody else. What is overwritten is of no page's
   * content, so those who read need not wait.
   * @returns false: another process is in the way
   */
  function overwrite({ pages, inode }: NonNullable<typeof opened>, indices: readonly number[]): boolean {
    // It may have been written to since the call began.
    const log = checkpoint();
    if (log === 'busy') return false;
    if (log === 'moved') left = Number.POSITIVE_INFINITY;
    const db = connect(file, { timeout: 0 });
    try {
      const connection = new SqliteConnection(db);
      connection.run('begin immediate');
      if (logOctets() > 0 || inodeNow() !== inode) return false;
      // As it is now: `VACUUM` may have changed it since the call began.
      const layout = layoutOf(pages);
      if (layout === null) return false;
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
      // Nobody else has written: the file need not be looked through once more for it.
      if (logOctets() <= LOG_HEADER_OCTETS + FRAME_HEADER_OCTETS + layout.pageSize) checkpoint();
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    } finally {
      // It rolls back what was begun, and gives up the lock.
      db.close();
    }
  }

  async function eraseNext(): Promise<boolean> {
    opened ??= { pages: systemFiles.open(file, 'r+'), inode: inodeNow() };
    const open = opened;
    const layout = layoutOf(open.pages);
    if (layout === null) return true;
    if (next >= layout.count) next = 0;
    left = Math.min(left, layout.count);
    const count = Math.min(left, CALL_OCTETS / layout.pageSize);
    let isDone = false;
    try {
      const found = await lookThrough(open.pages, layout, count);
      if (isClosed) return true;
      isDone = found.length === 0 || (await between(() => overwrite(open, found)));
      if (isDone) left -= count;
      return isDone;
    } catch (error) {
      // A place that cannot be read must not keep those behind it from their turn.
      isDone = true;
      throw error;
    } finally {
      if (isDone) next = (next + count) % layout.count;
    }
  }

  return {
    written() {
      left = Number.POSITIVE_INFINITY;
    },
    async erase() {
      if (left === 0 || isClosed) return true;
      if (isUnderWay) return false;
      isUnderWay = true;
      try {
        return await eraseNext();
      } finally {
        isUnderWay = false;
      }
    },
    close() {
      isClosed = true;
      opened?.pages.close();
    },
  };
}

/** Null: it has pages that could be taken for pages with cells, or is not there yet. */
function layoutOf(pages: OpenFile): Layout | null {
  const header = Buffer.alloc(HEADER_OCTETS);
  if (pages.read(header, 0) < HEADER_OCTETS) return null;
  const stated = header.readUInt16BE(PAGE_SIZE_AT);
  const pageSize = stated === 1 ? 65_536 : stated;
  const count = Math.floor(pages.size() / pageSize);
  // With `auto_vacuum` there is a map of pages, which has pages of one more kind.
  if (header.readUInt32BE(AUTO_VACUUM_AT) !== 0 || count >= PAGES_MAX) return null;
  return { pageSize, usable: pageSize - header[RESERVED_AT]!, count };
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
