import { join } from 'node:path';
import { InputError } from '../../../base/errors.ts';
import {
  type Files,
  isMissing,
  makeFolderSync,
  readIfThere,
  replaceFileSync,
  systemFiles,
} from '../../../base/files.ts';
import {
  decodeEntries,
  encodeEntries,
  TILE_WIDTH,
  tilePath,
  tileWidth,
} from '../../../protocol/transparency/tiles.ts';

const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;
const HEAD = 'checkpoint';
const EVIDENCE = 'evidence';
const WAIT = 'waiting';

/**
 * What a monitor knows: its last checkpoint, and all entries of it. The files have the paths of a log over HTTPS (`checkpoint`,
 * `tile/entries/<N>[.p/<W>]`), so that `uqrp log recover` and other tools read a folder as they read a log. Every call throws InputError where the
 * disk refuses it.
 */
export interface StateFolder {
  /** Null: it is new. */
  head(): string | null;
  /** Entries `from` to `to`, without that, in their order. @throws InputError where some are missing */
  entries(from: number, to: number): Generator<Uint8Array, void>;
  /** Stores entries `n` × 256 and following. They count when a checkpoint is kept that is larger. */
  putBundle(n: number, leaves: readonly Uint8Array[]): void;
  /** All entries of it are on disk before. */
  keepHead(note: string, size: number): void;
  /** Since when what is served differs from the log while its witnesses are away; null: it does not. */
  wait(): Wait | null;
  keepWait(wait: Wait | null): void;
  /**
   * @param name of the folder, as `evidenceName` makes it: an equal one is not written again
   * @returns its path; null: it holds as much evidence of this alarm as it may
   */
  keepEvidence(name: string, content: Readonly<Record<string, string | Uint8Array>>): string | null;
}

/** Milliseconds since the epoch. */
interface Wait {
  readonly since: number;
  /** When they did not answer last. */
  readonly away: number;
}

/** @param evidenceMax folders of evidence of each alarm. The same alarm has the same folder at every round */
export function openStateFolder(path: string, evidenceMax: number, files: Files = systemFiles): StateFolder {
  makeFolderSync(path, FOLDER_MODE, files);
  /** Bundles since the last head. */
  const written = new Set<number>();

  function listIfThere(folder: string): string[] {
    try {
      return files.list(folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** Full, or partial with at least `width` entries: a crash may have left a longer one than the checkpoint needs. */
  function readBundle(n: number, width: number): readonly Uint8Array[] | null {
    for (const held of widthsOf(n)) {
      if (held < width) continue;
      const octets = files.read(join(path, tilePath({ level: 'entries', n, width: held })));
      return decodeEntries(octets, held)?.slice(0, width) ?? null;
    }
    return null;
  }

  /** Widths of bundle `n` that are stored, ascending. */
  function widthsOf(n: number): number[] {
    const full = join(path, tilePath({ level: 'entries', n, width: TILE_WIDTH }));
    const partial = listIfThere(`${full}.p`)
      .filter((name) => /^[0-9]+$/.test(name))
      .map(Number)
      .toSorted((a, b) => a - b);
    return files.facts(full) === null ? partial : [...partial, TILE_WIDTH];
  }

  /** An error of the disk stops no monitor: it is one of the faults that a round tells of. */
  function told<Result>(call: () => Result): Result {
    try {
      return call();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      throw new InputError(`the state folder ${path}: ${message}`);
    }
  }

  const folder: StateFolder = {
    head: () => readIfThere(join(path, HEAD), files),
    *entries(from, to) {
      for (let n = Math.floor(from / TILE_WIDTH); n * TILE_WIDTH < to; n++) {
        const leaves = told(() => readBundle(n, tileWidth('entries', n, to)));
        if (leaves === null) throw new InputError(`${path} lacks entries from ${n * TILE_WIDTH} on`);
        yield* leaves.slice(Math.max(0, from - n * TILE_WIDTH));
      }
    },
    putBundle(n, leaves) {
      const target = join(path, tilePath({ level: 'entries', n, width: leaves.length }));
      makeFolderSync(join(target, '..'), FOLDER_MODE, files);
      replaceFileSync(target, encodeEntries(leaves), FILE_MODE, files);
      written.add(n);
    },
    keepHead(note, size) {
      replaceFileSync(join(path, HEAD), note, FILE_MODE, files);
      // Partial bundles of the head before. Until here another reader of the folder finds those that its checkpoint names.
      for (const n of written) {
        for (const width of widthsOf(n).filter((one) => one < tileWidth('entries', n, size)))
          files.remove(join(path, tilePath({ level: 'entries', n, width })));
      }
      written.clear();
    },
    wait() {
      const [, since, away] =
        /^([0-9]{1,15}) ([0-9]{1,15})\n$/.exec(readIfThere(join(path, WAIT), files) ?? '') ?? [];
      return since === undefined ? null : { since: Number(since), away: Number(away) };
    },
    keepWait(wait) {
      if (wait !== null) replaceFileSync(join(path, WAIT), `${wait.since} ${wait.away}\n`, FILE_MODE, files);
      else if (files.facts(join(path, WAIT)) !== null) files.remove(join(path, WAIT));
    },
    keepEvidence(name, content) {
      const target = join(path, EVIDENCE, name);
      if (files.facts(target) !== null) return target;
      // Of each alarm its own: many cheap ones do not take the place of another one. A draft is no evidence.
      const code = codeOf(name);
      const same = listIfThere(join(path, EVIDENCE)).filter((one) => codeOf(one) === code);
      if (same.length >= evidenceMax) return null;
      makeFolderSync(join(path, EVIDENCE), FOLDER_MODE, files);
      const draft = files.draftOf(target);
      try {
        makeFolderSync(draft, FOLDER_MODE, files);
        for (const [file, octets] of Object.entries(content))
          replaceFileSync(join(draft, file), octets, FILE_MODE, files);
        files.rename(draft, target);
      } catch (error) {
        files.remove(draft);
        throw error;
      }
      files.syncFolder(join(path, EVIDENCE));
      return target;
    },
  };
  return {
    head: () => told(() => folder.head()),
    entries: (from, to) => folder.entries(from, to),
    putBundle: (n, leaves) => told(() => folder.putBundle(n, leaves)),
    keepHead: (note, size) => told(() => folder.keepHead(note, size)),
    wait: () => told(() => folder.wait()),
    keepWait: (wait) => told(() => folder.keepWait(wait)),
    keepEvidence: (name, content) => told(() => folder.keepEvidence(name, content)),
  };
}

/** The code of the alarm that a folder of evidence is named after; null for a name that is none of those. */
function codeOf(name: string): string | null {
  return /^([a-z_]+)-[0-9a-f]{16}$/.exec(name)?.[1] ?? null;
}
