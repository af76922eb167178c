/** Records in which order this process writes, syncs and renames: what no test of a killed process can see, because the kernel keeps the pages. */
import fs from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

export interface DiskOrder {
  /** `write NAME`, `sync NAME`, `rename OLD NEW` of files below the folder, in order; the folder itself is `.`. */
  readonly events: readonly string[];
  /** Must be called: the functions of `node:fs` are replaced until then. */
  restore(): void;
}

/** The functions of `node:fs` whose order matters. Random parts of names are cut. */
export async function recordDiskOrder(folder: string): Promise<DiskOrder> {
  const events: string[] = [];
  const undo: (() => void)[] = [];
  const nameOf = (path: string): string =>
    path === folder ? '.' : basename(path).replace(/\.[0-9a-f]{12}$/, '.draft');
  const isOurs = (path: unknown): path is string => typeof path === 'string' && path.startsWith(folder);
  const pathOf = (fd: number): string | null => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return null;
    }
  };
  const note = (what: string, path: string | null): void => {
    if (isOurs(path)) events.push(`${what} ${nameOf(path)}`);
  };

  function replace(
    owner: object,
    name: string,
    before: (self: unknown, args: readonly unknown[]) => void,
  ): void {
    const slot = owner as Record<string, (...args: unknown[]) => unknown>;
    const real = slot[name]!;
    slot[name] = function replaced(this: unknown, ...args: unknown[]) {
      before(this, args);
      return real.apply(this, args);
    };
    undo.push(() => {
      slot[name] = real;
    });
  }

  for (const name of ['fsyncSync', 'fdatasyncSync']) {
    replace(fs, name, (_self, [fd]) => note('sync', pathOf(fd as number)));
  }
  replace(fs, 'writeSync', (_self, [fd]) => note('write', pathOf(fd as number)));
  const rename = (_self: unknown, [from, to]: readonly unknown[]): void => {
    if (isOurs(from)) events.push(`rename ${nameOf(from)} ${nameOf(to as string)}`);
  };
  replace(fs, 'renameSync', rename);
  replace(fs.promises, 'rename', rename);
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  for (const name of ['sync', 'datasync']) {
    replace(prototype, name, (self) => note('sync', pathOf((self as FileHandle).fd)));
  }
  replace(prototype, 'writeFile', (self) => note('write', pathOf((self as FileHandle).fd)));
  syncBuiltinESMExports();
  return {
    events,
    restore() {
      for (const step of undo.splice(0)) step();
      syncBuiltinESMExports();
    },
  };
}
