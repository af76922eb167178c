import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import { type OpenFile, systemFiles } from '../../base/files.ts';
import { createEraser, type Eraser } from './eraser.ts';
import { checkPage, DamagedPageError } from './pages.ts';
import { type Bytes, createNew, openForReading, PAGE_SIZE, type Tree } from './tree.ts';

const NOBODY = Number.POSITIVE_INFINITY;
/** Pages of one call, where a test does not say another number. */
const MOST = 1000;
/** Milliseconds. */
let now = 0;

function isBranch(page: Uint8Array, number: number): boolean {
  try {
    checkPage(Buffer.from(page), number, 'branch');
    return true;
  } catch {
    return false;
  }
}

describe('what is left behind in a file of LMDB', () => {
  let directory: string;
  let path: string;
  let tree: Tree;
  let file: OpenFile;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'pages-test-'));
    path = join(directory, '1.mdb');
    tree = createNew(path);
    file = systemFiles.open(path, 'r+');
  });
  afterEach(async () => {
    await tree.close();
    file.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const keyOf = (i: number): Bytes => Uint8Array.from(Buffer.from(`k${String(i).padStart(4, '0')}`));
  /** A text that no other value has, so often that it fills the octets. */
  const filled = (name: string, octets: number): Buffer => Buffer.alloc(octets, `<${name}>`);
  const octets = (): Buffer => readFileSync(path);
  const holds = (name: string): boolean => octets().includes(`<${name}>`);

  function write(...changes: readonly (readonly [number, Buffer | null])[]): void {
    tree.transactionSync(() => {
      for (const [i, value] of changes) {
        if (value === null) tree.removeSync(keyOf(i));
        else tree.putSync(keyOf(i), value);
      }
    });
  }

  function erase(eraser: Eraser, oldest = NOBODY): boolean {
    let isDone = false;
    eraser.erased();
    tree.resetReadTxn();
    tree.whileLocked(() => {
      isDone = eraser.erase(oldest);
    });
    return isDone;
  }

  for (const [name, sizes, isLarge] of [
    ['of records', [40, 300, 2600], false],
    ['that take pages of their own', [300, 5000, 8168, 8169, 30_000], true],
    ['of a few octets, many in a page', [8, 12, 40], false],
  ] as const) {
    for (const seed of [1, 2, 3, 4])
      it(`is overwritten, and nothing else, after any writes of values ${name} (seed ${seed})`, () => {
        const rng = seededRng(seed);
        const eraser = createEraser(file, { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => isLarge });
        const live = new Map<number, Buffer>();
        const gone = new Set<string>();
        let name = 0;
        for (let round = 0; round < 120; round++) {
          const changes = new Map<number, Buffer | null>();
          for (let n = rng(12); n >= 0; n--) {
            const i = rng(300);
            changes.set(
              i,
              rng(3) === 0 ? null : filled(String(name++).padStart(4, '0'), sizes[rng(sizes.length)]!),
            );
          }
          write(...changes);
          for (const [i, value] of changes) {
            const former = live.get(i);
            if (former !== undefined) gone.add(former.toString('latin1', 0, former.indexOf('>') + 1));
            if (value === null) live.delete(i);
            else live.set(i, value);
          }
          if (rng(4) === 0) assert.equal(erase(eraser), true);
        }
        assert.equal(erase(eraser), true);
        const text = octets().toString('latin1');
        assert.deepEqual(
          [...gone].filter((each) => each.endsWith('>') && text.includes(each)),
          [],
        );
        for (let i = 0; i < 300; i++) {
          const value = tree.getBinaryFast(keyOf(i));
          assert.deepEqual(value && Buffer.from(value.subarray(0, value.length)), live.get(i), `${i}`);
        }
      });
  }

  it('stays in free pages that somebody still reads', () => {
    write(...Array.from({ length: 200 }, (_, i) => [i, filled(`first-${i}`, 1000)] as const));
    write(...Array.from({ length: 200 }, (_, i) => [i, null] as const));
    const eraser = createEraser(file, { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => true });
    const committed = Math.max(transactionOf(0), transactionOf(1));
    assert.equal(erase(eraser, committed - 1), false);
    assert.ok(holds('first-100'));
    assert.equal(erase(eraser, committed), true);
    assert.equal(octets().includes('<first-'), false);
  });

  it('is looked for in so many pages at once as the caller allows, in the next ones by the next call', () => {
    write(...Array.from({ length: 400 }, (_, i) => [i, filled(`v-${i}`, 2000)] as const));
    write(...Array.from({ length: 200 }, (_, i) => [2 * i, null] as const));
    const eraser = createEraser(counted(), { pagesMax: 20, elapsed: () => now, mayBeLarge: () => true });
    eraser.erased();
    let calls = 1;
    for (let isDone = false; !isDone; calls++) {
      read = 0;
      tree.whileLocked(() => {
        isDone = eraser.erase(NOBODY);
      });
      // Besides them both meta pages, the way to them, and headers.
      assert.ok(read <= 20 + 80, `${read}`);
      assert.ok(calls < 100);
    }
    assert.ok(calls > 5, `${calls}`);
    for (let i = 0; i < 400; i++) assert.equal(holds(`v-${i}`), i % 2 === 1, `${i}`);
  });

  it('is looked for in fewer pages where the disk is slow, in some of each kind at least', () => {
    write(...Array.from({ length: 400 }, (_, i) => [i, filled(`v-${i}`, 2000)] as const));
    write(
      ...Array.from({ length: 400 }, (_, i) => [i, i % 2 === 0 ? null : filled(`w-${i}`, 2000)] as const),
    );
    const slow: OpenFile = {
      ...file,
      read(into, at) {
        // A page takes four milliseconds, a header one.
        now += into.length === PAGE_SIZE ? 4 : 1;
        return file.read(into, at);
      },
    };
    const eraser = createEraser(slow, { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => false });
    let calls = 0;
    for (let isDone = false; !isDone; calls++) {
      const before = now;
      tree.whileLocked(() => {
        isDone = eraser.erase(NOBODY);
      });
      // At first the way to all, then three kinds, of which each may begin one page more.
      if (calls > 0) assert.ok(now - before <= 60, `${now - before}`);
      assert.ok(calls < 300);
    }
    assert.ok(calls > 20, `${calls}`);
    assert.equal(octets().includes('<v-'), false);
    assert.ok(holds('w-1') && holds('w-399'));
  });

  it('is found also where the way to values that may be large takes longer than a call has, while changes come', () => {
    write(...Array.from({ length: 100 }, (_, i) => [i, filled(`v-${i}`, 2000)] as const));
    write(...Array.from({ length: 50 }, (_, i) => [2 * i, null] as const));
    const slow: OpenFile = {
      ...file,
      read(into, at) {
        const octets = file.read(into, at);
        if (into.length === PAGE_SIZE && isBranch(into, at / PAGE_SIZE)) now += 11;
        return octets;
      },
    };
    const eraser = createEraser(slow, { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => true });
    const left = (): number =>
      Array.from({ length: 50 }, (_, i) => 2 * i).filter((i) => holds(`v-${i}`)).length;
    assert.ok(left() > 20);
    for (let round = 0; left() > 0; round++) {
      // The way to it is another one each time.
      write([9999, filled(`round-${round}`, 20)]);
      tree.whileLocked(() => {
        eraser.erase(NOBODY);
      });
      assert.ok(round < 300, `${left()} are left`);
    }
    assert.ok(holds('v-1') && holds('v-99'));
  });

  it('is not looked for in pages that have not changed', () => {
    write(...Array.from({ length: 400 }, (_, i) => [i, filled(`v-${i}`, 2000)] as const));
    const eraser = createEraser(counted(), { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => true });
    assert.equal(erase(eraser), true);
    write([7, null]);
    read = 0;
    pages = 0;
    assert.equal(erase(eraser), true);
    assert.equal(holds('v-7'), false);
    assert.ok(pages < 20, `${pages}`);
  });

  it('is overwritten while the file is written to all the time, and calls are few', () => {
    const rng = seededRng(1);
    const keys = 6000;
    const eraser = createEraser(file, { pagesMax: 20, elapsed: () => now, mayBeLarge: () => false });
    for (let from = 0; from < keys; from += 500)
      write(...Array.from({ length: 500 }, (_, i) => [from + i, filled(`v-${from + i}`, 900)] as const));
    const gone = Array.from({ length: 300 }, (_, i) => 2000 + i);
    write(...gone.map((i) => [i, null] as const));
    const left = (): number => {
      const names = new Set(
        octets()
          .toString('latin1')
          .match(/<v-2[0-2][0-9]{2}>/g),
      );
      return gone.filter((i) => names.has(`<v-${i}>`)).length;
    };
    assert.ok(left() > 100);
    for (let round = 0; round < 100; round++) {
      write(
        ...Array.from({ length: 30 }, () => {
          const i = 2300 + rng(keys - 2300);
          return [i, filled(`v-${i}`, 890 + rng(20))] as const;
        }),
      );
      // Each time more leaves may have changed than are looked through.
      assert.equal(erase(eraser), false);
    }
    assert.equal(left(), 0);
  });

  it('is found where the lists of free pages fill several pages, and some have pages of their own', async () => {
    // Two values fill a page.
    const values = Array.from({ length: 4400 }, (_, i) => i);
    const some = (round: number, nth: number) =>
      values
        .filter((i) => (i >> 1) % nth === round % nth)
        .map((i) => [i, filled(`r-${round}-${i}`, 3900)] as const);
    write(...some(0, 1));
    const reader = openForReading(path);
    try {
      // It holds all pages: none that becomes free is taken again.
      assert.ok(reader.getBinaryFast(keyOf(0)) !== undefined);
      // Pages that do not follow one another: lists of 550 take more than half a page, those of 140 fill one together.
      for (let round = 1; round <= 15; round++) write(...some(round, round % 4 === 0 ? 4 : 16));
    } finally {
      await reader.close();
    }
    const newest = transactionOf(0) > transactionOf(1) ? 0 : 1;
    const [depth, large] = [6, 24].map((at) => octets().readUInt16LE(newest * PAGE_SIZE + 48 + at));
    assert.ok(depth! > 1 && large! > 1, `${depth}, ${large}`);
    const eraser = createEraser(file, { pagesMax: 10_000, elapsed: () => now, mayBeLarge: () => false });
    assert.equal(erase(eraser), true);
    const live = new Set<string>();
    for (const i of values) {
      const value = tree.getBinaryFast(keyOf(i))!;
      live.add(value.toString('latin1', 0, value.indexOf('>') + 1));
    }
    assert.equal(live.size, values.length);
    assert.deepEqual(
      new Set(
        octets()
          .toString('latin1')
          .match(/<r-[0-9]+-[0-9]+>/g),
      ),
      live,
    );
  });

  it('is overwritten where it became free after the free pages were looked through', () => {
    const eraser = createEraser(file, { pagesMax: 50, elapsed: () => now, mayBeLarge: () => false });
    const call = (): boolean => {
      let isDone = false;
      tree.whileLocked(() => {
        isDone = eraser.erase(NOBODY);
      });
      return isDone;
    };
    const values = Array.from({ length: 4000 }, (_, i) => 2 * i);
    for (let from = 0; from < values.length; from += 500)
      write(...values.slice(from, from + 500).map((i) => [i, filled(`v-${i}`, 900)] as const));
    while (!call());
    const gone = values.filter((i) => (i / 2) % 16 < 3);
    write(...gone.map((i) => [i, null] as const));
    eraser.erased();
    for (let calls = 0; calls < 5; calls++) assert.equal(call(), false);
    // Nothing is erased by them: they copy pages that were not looked through yet, and leave those behind.
    write(...Array.from({ length: 40 }, (_, i) => [7999 - 40 * i, filled(`new-${i}`, 900)] as const));
    while (!call());
    const names = new Set(
      octets()
        .toString('latin1')
        .match(/<v-[0-9]+>/g),
    );
    assert.deepEqual(
      gone.filter((i) => names.has(`<v-${i}>`)),
      [],
    );
  });

  it('is overwritten after a value that became shorter where it was', () => {
    const eraser = createEraser(file, { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => true });
    tree.transactionSync(() => {
      tree.putSync(keyOf(1), filled('long', 8100));
      tree.putSync(keyOf(1), filled('short', 5000));
    });
    assert.ok(holds('long'));
    assert.equal(erase(eraser), true);
    assert.equal(holds('long'), false);
    assert.ok(holds('short'));
  });

  it('is left alone where a page is another one than the tree says, or the tree has other pages than LMDB counts', () => {
    write(...Array.from({ length: 100 }, (_, i) => [i, filled(`v-${i}`, 2000)] as const));
    write(...Array.from({ length: 50 }, (_, i) => [2 * i, null] as const));
    const whole = octets();
    const clean = Buffer.from(whole);
    const eraserOf = (copy: Buffer): Eraser =>
      createEraser(inMemory(copy), { pagesMax: MOST, elapsed: () => now, mayBeLarge: () => true });
    assert.equal(eraserOf(clean).erase(NOBODY), true);
    assert.equal(clean.includes('<v-0>'), false);
    // There it is in one page, the one that is in use.
    const page = Math.floor(clean.indexOf('<v-1>') / PAGE_SIZE);
    const newer = transactionOf(0) > transactionOf(1) ? 0 : 1;
    for (const [what, at, value] of [
      ['another number', page * PAGE_SIZE, 0xff],
      ['another kind', page * PAGE_SIZE + 18, 0x04],
      ['entries that cross their end', page * PAGE_SIZE + 21, 0xff],
      ['an entry after the end', page * PAGE_SIZE + 25, 0xff],
      ['another count of leaves', newer * PAGE_SIZE + 112, 0xff],
      ['another count of large values', newer * PAGE_SIZE + 120, 0xff],
    ] as const) {
      const damaged = Buffer.from(whole);
      damaged[at] = value;
      assert.throws(() => eraserOf(damaged).erase(NOBODY), DamagedPageError, what);
      assert.ok(damaged.includes('<v-0>') && damaged.includes('<v-98>'), what);
    }
  });

  /** Calls of `counted`, and those of a whole page, since a test has set them to 0. */
  let read = 0;
  let pages = 0;

  /** The file, of which all reads are counted. */
  function counted(): OpenFile {
    return {
      ...file,
      read(into, at) {
        read++;
        if (into.length === PAGE_SIZE) pages++;
        return file.read(into, at);
      },
    };
  }

  function transactionOf(meta: number): number {
    return octets().readUIntLE(meta * PAGE_SIZE + 152, 6);
  }
});

function inMemory(octets: Buffer): OpenFile {
  return {
    write: (some, at) => octets.set(some, at),
    read: (into, at) => octets.copy(into, 0, at, at + into.length),
    size: () => octets.length,
    sync() {},
    close() {},
  };
}
