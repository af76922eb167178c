/**
 * Overwrites in a file of LMDB what is of no entry. LMDB copies a page before it changes, moves entries from page to page, and leaves behind
 * what was there: in free pages, and in the unused parts of those in use.
 */
import type { OpenFile } from '../../base/files.ts';
import {
  checkLargeValue,
  checkPage,
  childrenOf,
  DamagedPageError,
  type LargeValue,
  largeValuesOf,
  PAGE_HEADER_OCTETS,
  readMeta,
  transactionOf,
  unusedOf,
} from './pages.ts';
import { PAGE_SIZE } from './tree.ts';

/** What it costs to read the header of a page, as a part of what it costs to read and search a page. */
const HEADER_COST = 0.25;

/** Milliseconds for the pages of each kind in one call: those of a file that is not in memory come from the disk, and take longer. */
const KIND_MS = 10;

const ZEROS = Buffer.alloc(PAGE_SIZE);

export interface Eraser {
  /** Something was erased: all free pages are looked through once more. */
  erased(): void;
  /**
   * Looks through some pages while nobody can write to the file, and overwrites with zeros what it finds.
   * @param oldest transaction that somebody still reads, Infinity when there is none: free pages wait for the newest one
   * @returns false: not all of the file has been looked through, and the next call goes on
   * @throws DamagedPageError before a free page is overwritten
   */
  erase(oldest: number): boolean;
}

export interface EraserOptions {
  /** Of each kind, that one call reads: leaves, free pages, and pages that large values are found by. */
  readonly pagesMax: number;
  /** As of `Timers`. */
  readonly elapsed: () => number;
  /** Whether keys that begin with the octet may have large values. */
  readonly mayBeLarge: (first: number) => boolean;
}

interface Branch {
  /** The last transaction that changed it, or a page below it. */
  readonly changed: number;
  readonly children: Float64Array;
  /** Of each child that is a leaf, 1 where it may have large values. */
  readonly mayBeLarge: Uint8Array;
  /** All its children are leaves that have been looked through, and none has large values. */
  isSettled: boolean;
}

/** A walk through both trees. */
interface Walk {
  readonly committed: number;
  /** Of each page of the file, 1 when it is in use; null where the pages of some large values are not known yet. */
  readonly inUse: Uint8Array | null;
  /** Leaves that may have changed since they were looked through, in the order of their keys. */
  readonly stale: readonly number[];
  /** The place of each of them among all leaves. */
  readonly places: readonly number[];
}

export function createEraser(file: OpenFile, { pagesMax, elapsed, mayBeLarge }: EraserOptions): Eraser {
  /** Of each page with entries: the transaction after which it was looked through. Nothing has changed below an older page. */
  let lookedAt = new Float64Array(0);
  /** By the page that leads to others. */
  const branches = new Map<number, Branch>();
  /** By the leaf that leads to them. */
  const large = new Map<number, readonly LargeValue[]>();
  /** Free pages that are still to be looked through, and where the next one is searched. */
  let freeLeft = Number.POSITIVE_INFINITY;
  let nextFree = 0;
  /** The transaction that the last call found: a later one may have freed pages. */
  let freeAfter = 0;
  /** Place of the leaf that is the next one to be looked through: under steady changes it is the turn of each. */
  let nextLeaf = 0;
  const page = Buffer.alloc(PAGE_SIZE);
  const header = Buffer.alloc(PAGE_HEADER_OCTETS);

  /** What one call may still do with pages of one kind. What it takes to find them does not count: some are looked through in each call. */
  function makeRoom() {
    let pages = pagesMax;
    let ms = KIND_MS;
    return {
      /** @param look returns what it cost, in pages */
      spend(look: () => number): void {
        const began = elapsed();
        pages -= look();
        ms -= elapsed() - began;
      },
      isOver: () => pages <= 0 || ms < 0,
    };
  }

  /** @returns the page, without anything in its unused part. It is valid until the next one is read */
  function readErased(number: number, kind: 'branch' | 'leaf'): Buffer {
    if (file.read(page, number * PAGE_SIZE) < PAGE_SIZE) throw new DamagedPageError();
    checkPage(page, number, kind);
    const unused = unusedOf(page)!;
    if (!isEmpty(unused))
      file.write(ZEROS.subarray(0, unused.length), number * PAGE_SIZE + unused.byteOffset - page.byteOffset);
    return page;
  }

  function eraseAfter(value: LargeValue): void {
    const { first, pages, octets } = value;
    file.read(header, first * PAGE_SIZE);
    checkLargeValue(header, value);
    const end = PAGE_HEADER_OCTETS + octets;
    const rest = Buffer.alloc(pages * PAGE_SIZE - end);
    file.read(rest, first * PAGE_SIZE + end);
    if (!isEmpty(rest)) file.write(Buffer.alloc(rest.length), first * PAGE_SIZE + end);
  }

  /** @returns what it cost, in pages */
  function lookThrough(leaf: number, committed: number): number {
    file.read(header, leaf * PAGE_SIZE);
    let cost = HEADER_COST;
    if (lookedAt[leaf]! < transactionOf(header)) {
      const values = largeValuesOf(readErased(leaf, 'leaf'));
      for (const value of values) eraseAfter(value);
      if (values.length > 0) large.set(leaf, values);
      else large.delete(leaf);
      branches.delete(leaf);
      cost += 1 + values.length;
    }
    lookedAt[leaf] = committed;
    return cost;
  }

  function hasLarge(begins: number, ends: number): boolean {
    for (let first = begins; first <= ends; first++) if (mayBeLarge(first)) return true;
    return false;
  }

  /** @param changed transaction that was the last one to change it, or another page below the same one */
  function branchAt(number: number, changed: number, committed: number): Branch {
    const known = branches.get(number);
    if (known !== undefined && lookedAt[number]! >= changed) return known;
    file.read(header, number * PAGE_SIZE);
    const isSame = known !== undefined && lookedAt[number]! >= transactionOf(header);
    const branch = isSame ? known : readBranch(number);
    lookedAt[number] = committed;
    return branch;
  }

  function readBranch(number: number): Branch {
    const children = childrenOf(readErased(number, 'branch'));
    const branch: Branch = {
      isSettled: false,
      changed: transactionOf(page),
      children: Float64Array.from(children, (child) => child.page),
      mayBeLarge: Uint8Array.from(children, ({ begins, ends }) => (hasLarge(begins, ends) ? 1 : 0)),
    };
    branches.set(number, branch);
    return branch;
  }

  /** @throws DamagedPageError */
  function walk(): Walk {
    const { committed, trees, counts } = readMeta(file);
    const inUse = new Uint8Array(Math.floor(file.size() / PAGE_SIZE));
    if (lookedAt.length < inUse.length) {
      const longer = new Float64Array(2 * inUse.length);
      longer.set(lookedAt);
      lookedAt = longer;
    }
    const room = makeRoom();
    let isWhole = true;
    const [stale, places]: [number[], number[]] = [[], []];
    const found: [branches: number, leaves: number, large: number] = [0, 0, 0];

    function use(number: number): void {
      if (inUse[number] !== 0) throw new DamagedPageError();
      inUse[number] = 1;
    }

    /** @param changed transaction that was the last one to change it, or another page below the same one */
    function visitBranch(number: number, levels: number, changed: number, isOurs: boolean): void {
      use(number);
      found[0]++;
      const branch = branchAt(number, changed, committed);
      if (branch.isSettled) {
        for (const child of branch.children) use(child);
        found[1] += branch.children.length;
        return;
      }
      const before = stale.length + found[2];
      for (let i = 0; i < branch.children.length; i++) {
        const child = branch.children[i]!;
        if (levels > 1) visitBranch(child, levels - 1, branch.changed, isOurs);
        else visitLeaf(child, branch.changed, !isOurs || branch.mayBeLarge[i] === 1);
      }
      branch.isSettled = levels === 1 && isWhole && stale.length + found[2] === before;
    }

    function visitLeaf(number: number, changed: number, isLarge: boolean): void {
      use(number);
      const place = found[1]++;
      if (lookedAt[number]! < changed) {
        if (!isLarge) {
          stale.push(number);
          places.push(place);
          return;
        }
        if (room.isOver()) {
          isWhole = false;
          return;
        }
        room.spend(() => lookThrough(number, committed));
      }
      if (!isLarge) return;
      for (const { first, pages } of large.get(number) ?? []) {
        for (let i = 0; i < pages; i++) use(first + i);
        found[2] += pages;
      }
    }

    use(0);
    use(1);
    for (const { page: root, levels, isOurs } of trees) {
      if (levels > 0) visitBranch(root, levels, committed, isOurs);
      else visitLeaf(root, committed, true);
    }
    // As many as LMDB counts: so no page in use is taken for a free one.
    if (isWhole && found.some((count, kind) => count !== counts[kind])) throw new DamagedPageError();
    return { committed, inUse: isWhole ? inUse : null, stale, places };
  }

  /** @returns what it cost, in pages */
  function eraseFreePage(number: number): number {
    file.read(page, number * PAGE_SIZE);
    if (!isEmpty(page)) file.write(ZEROS, number * PAGE_SIZE);
    return 1;
  }

  /** @returns whether nothing is left */
  function eraseFree(inUse: Uint8Array): boolean {
    const room = makeRoom();
    freeLeft = Math.min(
      freeLeft,
      inUse.reduce((sum, used) => sum + 1 - used, 0),
    );
    for (; freeLeft > 0 && !room.isOver(); nextFree++) {
      if (nextFree >= inUse.length) nextFree = 0;
      if (inUse[nextFree] !== 0) continue;
      room.spend(() => eraseFreePage(nextFree));
      freeLeft--;
    }
    return freeLeft === 0;
  }

  /** @returns whether nothing is left */
  function eraseUnused({ stale, places, committed }: Walk): boolean {
    const room = makeRoom();
    const from = Math.max(
      0,
      places.findIndex((place) => place >= nextLeaf),
    );
    for (let i = 0; i < stale.length; i++) {
      const at = (from + i) % stale.length;
      nextLeaf = places[at]!;
      if (room.isOver()) return false;
      room.spend(() => lookThrough(stale[at]!, committed));
    }
    return true;
  }

  return {
    erased() {
      freeLeft = Number.POSITIVE_INFINITY;
    },
    erase(oldest) {
      const found = walk();
      const isUnusedDone = eraseUnused(found);
      // Another transaction may have freed pages, also some that were still to be looked through: all are free pages to look through now.
      if (!isUnusedDone || found.inUse === null || found.committed !== freeAfter)
        freeLeft = Number.POSITIVE_INFINITY;
      freeAfter = found.committed;
      // Free pages wait for those who read them as they were.
      if (found.inUse === null || oldest < found.committed) return false;
      return eraseFree(found.inUse) && isUnusedDone;
    },
  };
}

function isEmpty(octets: Buffer): boolean {
  for (let at = 0; at < octets.length; at += PAGE_SIZE) {
    const some = octets.subarray(at, at + PAGE_SIZE);
    if (!some.equals(ZEROS.subarray(0, some.length))) return false;
  }
  return true;
}
