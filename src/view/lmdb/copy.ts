/**
 * A copy of a file without free pages. LMDB leaves in the unused part of each page what its buffer held before: parts of
 * other records, which would stay in a view that adopts the copy and erases them. That part is overwritten with zeros.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { PAGE_SIZE, type Tree } from './tree.ts';
import { createPrivate, generationPath, prepareDirectory, writeState } from './view-directory.ts';

/** Of a page: number (8), transaction (8), padding (2), flags (2), then two ends of the unused part (2, 2), or pages of a large value (4). */
const HEADER_OCTETS = 24;
const FLAGS_AT = 18;
const LOWER_AT = 20;
const UPPER_AT = 22;
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;

/** Pages that are read at once. */
const PAGES_AT_ONCE = 128;

/**
 * Writes a view of its own into the directory, which is made, or emptied. Reads and writes of the tree may go on; it must not be closed
 * meanwhile.
 * @returns path of the file
 */
export async function copyAsView(tree: Tree, directory: string): Promise<string> {
  prepareDirectory(directory, 'empty');
  const path = generationPath(directory, 1);
  await tree.backup(path, true);
  createPrivate(path);
  const file = await open(path, 'r+');
  try {
    await clearUnused(file);
    await file.sync();
  } finally {
    await file.close();
  }
  writeState(directory, 1, 'clean');
  return path;
}

async function clearUnused(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  const pages = size / PAGE_SIZE;
  const block = Buffer.alloc(PAGES_AT_ONCE * PAGE_SIZE);
  // A large value fills several pages, which begin with no header.
  let next = 0;
  for (let first = 0; first < pages; first += PAGES_AT_ONCE) {
    const count = Math.min(PAGES_AT_ONCE, pages - first);
    await file.read(block, 0, count * PAGE_SIZE, first * PAGE_SIZE);
    for (next = Math.max(next, first); next < first + count; ) {
      const at = (next - first) * PAGE_SIZE;
      next += clearPage(block.subarray(at, at + PAGE_SIZE));
    }
    await file.write(block, 0, count * PAGE_SIZE, first * PAGE_SIZE);
  }
}

/** @returns pages until the next one with a header */
function clearPage(page: Buffer): number {
  const flags = page.readUInt16LE(FLAGS_AT);
  if ((flags & OVERFLOW) !== 0) return Math.max(1, page.readUInt32LE(LOWER_AT));
  if ((flags & (BRANCH | LEAF)) === 0) return 1;
  const [lower, upper] = [page.readUInt16LE(LOWER_AT), page.readUInt16LE(UPPER_AT)];
  if (lower > upper || HEADER_OCTETS + upper > PAGE_SIZE) throw new Error('the copy of the view is damaged');
  page.fill(0, HEADER_OCTETS + lower, HEADER_OCTETS + upper);
  return 1;
}
