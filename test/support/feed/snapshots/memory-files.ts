import type { SnapshotFiles } from '../../../../src/feed/snapshots/snapshot-reader.ts';

export interface MemorySnapshotFiles extends SnapshotFiles {
  /** Whole files by path. */
  readonly whole: Map<string, Uint8Array>;
  /** Files that are being written. */
  readonly drafts: number;
  /** The disk has room for this many octets. */
  room: number;
}

/** @param whole a memory view may adopt them */
export function memorySnapshotFiles(whole: Map<string, Uint8Array> = new Map()): MemorySnapshotFiles {
  let count = 0;
  let drafts = 0;
  const files: MemorySnapshotFiles = {
    whole,
    get drafts() {
      return drafts;
    },
    room: Number.POSITIVE_INFINITY,
    async create(kind) {
      const parts: Uint8Array[] = [];
      let octets = 0;
      drafts++;
      return {
        async write(part) {
          octets += part.length;
          if (octets > files.room) throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
          parts.push(Uint8Array.from(part));
        },
        async finish() {
          drafts--;
          const path = `${kind} ${++count}`;
          whole.set(path, Buffer.concat(parts));
          return path;
        },
        async discard() {
          drafts--;
        },
      };
    },
  };
  return files;
}
