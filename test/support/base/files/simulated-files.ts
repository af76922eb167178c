import type { FileFacts, Files, OpenFile, OpenFlags } from '../../../../src/base/files.ts';

/** Torn writes end at a multiple of this: a disk writes a sector whole or not at all. */
const SECTOR = 512;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** What a disk does wrong at present. Probabilities of one call. */
export interface DiskFaults {
  /** Octets of all files together: more is ENOSPC. */
  capacity: number;
  /** A read is EIO. */
  read: number;
  /** A sync is EIO, and what it was to bring to the disk may be lost: no later sync tries it again (as Linux does). */
  sync: number;
  /** A read of one of these paths has one wrong octet. For formats with a checksum. */
  corrupt: { readonly chance: number; readonly path: RegExp } | null;
}

export interface DiskUser {
  after(ms: number, run: () => void): () => void;
  isDead(): boolean;
}

export interface DiskOptions {
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Milliseconds since the epoch, for the times of files. */
  readonly now: () => number;
  /** Milliseconds of a call that does not block; 0: it is done at once. */
  readonly delay?: () => number;
}

/** A disk that outlives processes, and loses power. Two of one seed do the same. */
export interface SimulatedDisk {
  readonly faults: DiskFaults;
  /** As one process sees it. Calls of a dead one have no effect, and their promises never settle. */
  files(user?: DiskUser): Files;
  /** Keeps what was synced, and any part of the rest. Files that are open are of no use then. */
  powerLoss(): void;
}

interface FileNode {
  readonly kind: 'file';
  readonly inode: number;
  mode: number;
  changedMs: number;
  content: Buffer;
  /** As it is on the disk for sure. */
  synced: Buffer;
  /** Since then, in order: writes, or another length. */
  pending: ({ readonly at: number; readonly octets: Buffer } | { readonly length: number })[];
}

interface FolderNode {
  readonly kind: 'folder';
  readonly inode: number;
  mode: number;
  changedMs: number;
  names: Map<string, Node>;
  synced: Map<string, Node>;
}

type Node = FileNode | FolderNode;

/** One change of names, which a file system does whole or not at all. */
type NameChange = readonly {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: Node | null;
}[];

export function createSimulatedDisk({ random, now, delay = () => 0 }: DiskOptions): SimulatedDisk {
  const faults: DiskFaults = { capacity: Number.POSITIVE_INFINITY, read: 0, sync: 0, corrupt: null };
  let inodes = 0;
  let drafts = 10 ** 11; // names have twelve digits
  let boots = 1;
  const root = newFolder(0o755);
  /** Changes of names that are not on the disk for sure, in order. */
  let unsynced: NameChange[] = [];

  function newFolder(mode: number): FolderNode {
    return { kind: 'folder', inode: ++inodes, mode, changedMs: now(), names: new Map(), synced: new Map() };
  }

  function newFile(mode: number): FileNode {
    const none = Buffer.alloc(0);
    return {
      kind: 'file',
      inode: ++inodes,
      mode,
      changedMs: now(),
      content: none,
      synced: none,
      pending: [],
    };
  }

  function find(path: string): Node | null {
    let at: Node = root;
    for (const name of path.split('/').filter((part) => part !== '')) {
      if (at.kind !== 'folder') throw systemError('ENOTDIR', path);
      const next = at.names.get(name);
      if (next === undefined) return null;
      at = next;
    }
    return at;
  }

  function existing(path: string): Node {
    const found = find(path);
    if (found === null) throw systemError('ENOENT', path);
    return found;
  }

  function existingFile(path: string): FileNode {
    const found = existing(path);
    if (found.kind === 'folder') throw systemError('EISDIR', path);
    return found;
  }

  function existingFolder(path: string): FolderNode {
    const found = existing(path);
    if (found.kind === 'file') throw systemError('ENOTDIR', path);
    return found;
  }

  function placeOf(path: string): { readonly folder: FolderNode; readonly name: string } {
    const cut = path.lastIndexOf('/');
    return { folder: existingFolder(path.slice(0, cut)), name: path.slice(cut + 1) };
  }

  function change(...changes: NameChange): void {
    for (const { folder, name, node } of changes) {
      if (node === null) folder.names.delete(name);
      else folder.names.set(name, node);
      folder.changedMs = now();
    }
    unsynced.push(changes);
  }

  function used(): number {
    let octets = 0;
    const seen = new Set<Node>();
    const add = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === 'file') octets += node.content.length;
      else for (const inside of node.names.values()) add(inside);
    };
    add(root);
    return octets;
  }

  function write(file: FileNode, octets: Uint8Array, at: number, path: string): void {
    const added = Math.max(0, at + octets.length - file.content.length);
    const room = faults.capacity === Number.POSITIVE_INFINITY ? added : faults.capacity - used();
    const fits = added > room ? Math.max(0, octets.length - (added - Math.max(0, room))) : octets.length;
    const part = Buffer.from(octets.subarray(0, fits));
    file.content = written(file.content, part, at);
    file.pending.push({ at, octets: part });
    file.changedMs = now();
    if (fits < octets.length) throw systemError('ENOSPC', path);
  }

  function readAt(file: FileNode, into: Uint8Array, at: number, path: string): number {
    if (random() < faults.read) throw systemError('EIO', path);
    const part = file.content.subarray(at, at + into.length);
    into.set(part);
    const { corrupt } = faults;
    if (corrupt !== null && part.length > 0 && corrupt.path.test(path) && random() < corrupt.chance) {
      const wrong = Math.floor(random() * part.length);
      into[wrong]! ^= 1 + Math.floor(random() * 255);
    }
    return part.length;
  }

  function sync(file: FileNode, path: string): void {
    const fails = random() < faults.sync;
    if (fails) file.synced = torn(file);
    else file.synced = file.content;
    file.pending = [];
    if (fails) throw systemError('EIO', path);
  }

  /** The content as it may be found after the power was lost. */
  function torn(file: FileNode): Buffer {
    const { synced, pending } = file;
    // Often nothing of it is there, or all.
    const share = [0, 0.5, 1][Math.floor(random() * 3)]!;
    let content = synced;
    for (const each of pending) {
      if ('length' in each) {
        if (random() < share) content = resized(content, each.length);
        continue;
      }
      for (let from = 0; from < each.octets.length; ) {
        const at = each.at + from;
        const end = Math.min(each.octets.length, from + SECTOR - (at % SECTOR));
        if (random() < share) content = written(content, each.octets.subarray(from, end), at);
        from = end;
      }
    }
    return content;
  }

  function openAs(path: string, flags: OpenFlags, mode: number): FileNode {
    const found = find(path);
    if (found?.kind === 'folder') throw systemError('EISDIR', path);
    if (found === null) {
      if (flags === 'r' || flags === 'r+') throw systemError('ENOENT', path);
      const file = newFile(mode);
      change({ ...placeOf(path), node: file });
      return file;
    }
    if (flags === 'wx') throw systemError('EEXIST', path);
    if (flags === 'w+') {
      found.content = resized(found.content, 0);
      found.pending.push({ length: 0 });
    }
    return found;
  }

  const calls: Omit<Files, 'async' | 'draftOf'> = {
    open(path, flags, mode = 0o600) {
      const file = openAs(path, flags, mode);
      const boot = boots;
      let isClosed = false;
      const checked = <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
        function checkedCall(...args: Args): Result {
          if (isClosed || boot !== boots) throw systemError('EBADF', path);
          return call(...args);
        };
      return {
        write: checked((octets, at) => {
          if (flags === 'r') throw systemError('EBADF', path);
          write(file, octets, flags === 'a' ? file.content.length : at, path);
        }),
        read: checked((into, at) => readAt(file, into, at, path)),
        size: checked(() => file.content.length),
        sync: checked(() => sync(file, path)),
        close: checked(() => {
          isClosed = true;
        }),
      };
    },
    read(path) {
      if (path === BOOT_ID) return Buffer.from(`boot ${boots}\n`);
      const file = existingFile(path);
      const whole = Buffer.alloc(file.content.length);
      readAt(file, whole, 0, path);
      return whole;
    },
    list: (path) => [...existingFolder(path).names.keys()],
    facts(path) {
      const found = find(path);
      return found === null ? null : factsOf(found);
    },
    makeFolder(path, mode) {
      if (find(path) !== null) throw systemError('EEXIST', path);
      change({ ...placeOf(path), node: newFolder(mode) });
    },
    rename(from, to) {
      const node = existing(from);
      const taken = find(to);
      if (node === taken) return;
      if (taken?.kind === 'folder' && node.kind === 'file') throw systemError('EISDIR', to);
      if (taken?.kind === 'file' && node.kind === 'folder') throw systemError('ENOTDIR', to);
      if (taken?.kind === 'folder' && taken.names.size > 0) throw systemError('ENOTEMPTY', to);
      change({ ...placeOf(from), node: null }, { ...placeOf(to), node });
    },
    link(from, to) {
      const node = existingFile(from);
      if (find(to) !== null) throw systemError('EEXIST', to);
      change({ ...placeOf(to), node });
    },
    remove(path) {
      const node = find(path);
      if (node === null) return;
      if (node.kind === 'folder') for (const name of [...node.names.keys()]) calls.remove(`${path}/${name}`);
      change({ ...placeOf(path), node: null });
    },
    setMode(path, mode) {
      existing(path).mode = mode;
    },
    setTime(path, changedMs) {
      existing(path).changedMs = changedMs;
    },
    syncFolder(path) {
      const folder = existingFolder(path);
      if (random() < faults.sync) throw systemError('EIO', path);
      folder.synced = new Map(folder.names);
      // A rename between two folders is on the disk with either of them.
      const [kept, done] = [[] as NameChange[], [] as NameChange[]];
      for (const each of unsynced) (each.some((part) => part.folder === folder) ? done : kept).push(each);
      unsynced = kept;
      for (const each of done) for (const part of each) if (part.folder !== folder) apply(part);
    },
    freeOctets: (path) => (find(path) === null ? Number.NaN : Math.max(0, faults.capacity - used())),
  };

  function apply({ folder, name, node }: NameChange[number]): void {
    if (node === null) folder.synced.delete(name);
    else folder.synced.set(name, node);
  }

  function factsOf(node: Node): FileFacts {
    const octets = node.kind === 'file' ? node.content.length : 0;
    const { kind, inode, mode, changedMs } = node;
    return { kind, octets, held: octets, changedMs, inode, mode, owner: 0 };
  }

  return {
    faults,
    files(user) {
      const isDead = (): boolean => user?.isDead() ?? false;
      /** Effects come before the delay or after it: who dies in between may have done it. */
      const later = <Result>(call: () => Result): Promise<Result> =>
        new Promise((resolve, reject) => {
          if (isDead()) return;
          const run = (): (() => void) => {
            try {
              const result = call();
              return () => resolve(result);
            } catch (error) {
              return () => reject(error as Error);
            }
          };
          const ms = user === undefined ? 0 : delay();
          if (ms === 0) run()();
          else if (random() < 0.5) user!.after(ms, run());
          else user!.after(ms, () => run()());
        });
      const alive: Wrap =
        (call) =>
        (...args) => {
          if (isDead()) throw new Error('a dead process has no disk');
          return call(...args);
        };
      const delayed: Wrap =
        (call) =>
        (...args) =>
          later(() => call(...args));
      const now = eachCall(calls, alive);
      const async = eachCall(calls, delayed);
      now.open = (...args) => eachCall(alive(calls.open as Call)(...args) as OpenFile, alive);
      async.open = async (...args) =>
        eachCall((await delayed(calls.open as Call)(...args)) as OpenFile, delayed);
      return { ...now, async, draftOf: (path: string) => `${path}.draft-${++drafts}` } as unknown as Files;
    },
    powerLoss() {
      boots++;
      // A journal keeps the first changes of names; other file systems any of them.
      const isOrdered = random() < 0.5;
      const first = Math.floor(random() * (unsynced.length + 1));
      for (const [index, each] of unsynced.entries()) {
        if (isOrdered ? index < first : random() < 0.5) for (const part of each) apply(part);
      }
      unsynced = [];
      const settle = (folder: FolderNode, seen: Set<Node>): void => {
        folder.names = new Map(folder.synced);
        for (const node of folder.names.values()) {
          if (seen.has(node)) continue;
          seen.add(node);
          if (node.kind === 'folder') settle(node, seen);
          else {
            node.synced = torn(node);
            node.content = node.synced;
            node.pending = [];
          }
        }
      };
      settle(root, new Set());
    },
  };
}

function written(content: Buffer, octets: Uint8Array, at: number): Buffer {
  const next = Buffer.alloc(Math.max(content.length, at + octets.length));
  content.copy(next);
  next.set(octets, at);
  return next;
}

function resized(content: Buffer, length: number): Buffer {
  const next = Buffer.alloc(length);
  content.copy(next);
  return next;
}

type Call = (...args: unknown[]) => unknown;
type Wrap = (call: Call) => Call;

/** An object of the same functions, each as `wrap` makes it. */
function eachCall(object: object, wrap: Wrap): Record<string, Call> {
  return Object.fromEntries(Object.entries(object).map(([name, call]: [string, Call]) => [name, wrap(call)]));
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, path });
}
