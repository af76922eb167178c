import { CURSOR_KEY, decodeCursor, EPOCH_KEY } from './lmdb/key-space.ts';
import type { Tree } from './lmdb/tree.ts';

/** Which changes a view has, of which database; null: it is empty. */
export interface ViewPosition {
  readonly cursor: number | null;
  readonly epoch: string | null;
}

export function positionOf(tree: Tree): ViewPosition {
  const cursor = tree.getBinaryFast(CURSOR_KEY);
  // The next read overwrites the buffer.
  const seq = cursor === undefined ? null : decodeCursor(cursor);
  const epoch = tree.getBinaryFast(EPOCH_KEY);
  return { cursor: seq, epoch: epoch?.toString('latin1', 0, epoch.length) ?? null };
}
