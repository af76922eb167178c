import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { type CheckedItems, type CheckOptions, checkItems, DatasetFault } from './items.ts';

interface Line {
  readonly k: string;
  readonly from: number | null;
  readonly to: number | null;
}

const text = (lines: readonly object[]): string =>
  lines.map((line) => `${JSON.stringify({ cc: 'DE', ...line })}\n`).join('');
const windowsOf = (k: string, count: number): Line[] =>
  Array.from({ length: count }, (_, i) => ({ k, from: i * 10, to: i * 10 + 10 }));

describe('items files', () => {
  let folder: string;
  let path: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-items-'));
    path = join(folder, 'items.jsonl');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function check(content: string | Uint8Array, options: Partial<CheckOptions> = {}): CheckedItems {
    writeFileSync(path, content);
    try {
      return checkItems(path, { slug: 'x', sortFolder: folder, ...options });
    } finally {
      assert.deepEqual(readdirSync(folder), ['items.jsonl'], 'no temporary file is left');
    }
  }

  /** The message without the file's path. */
  function faultOf(content: string | Uint8Array, options: Partial<CheckOptions> = {}): string | null {
    try {
      check(content, options);
      return null;
    } catch (error) {
      assert.ok(error instanceof DatasetFault, String(error));
      assert.ok(error.message.startsWith(path), error.message);
      return error.message.slice(path.length);
    }
  }

  it('are counted, and hashed as they are', () => {
    const content = text([
      { k: 'a', from: 0, to: 5 },
      { k: 'a', from: 5, to: null },
      { k: 'b', from: null, to: null },
    ]);
    for (const written of [content, content.trimEnd(), content.replaceAll('\n', '\r\n')]) {
      const octets = Buffer.from(written);
      const sha256 = createHash('sha256').update(octets).digest('hex');
      assert.deepEqual(check(octets), { sha256, octets: octets.length, items: 2, windows: 3 });
    }
  });

  it('name the line that is wrong, and why', () => {
    const good = text([{ k: 'a', from: 0, to: 1 }]);
    for (const [content, fault] of [
      ['', ' has no items'],
      ['\n', ':1: is not JSON'],
      [`${good}{`, ':2: is not JSON'],
      [`${good}\n${good}`, ':2: is not JSON'],
      [`${good}[]\n`, ':2: is not a JSON object'],
      [`\ufeff${good}`, ':1: is not JSON'],
      [Buffer.concat([Buffer.from(good), Buffer.from('{"k":"\xff"}', 'latin1')]), ':2: is not UTF-8'],
      [good + text([{ k: 'b', from: 1, to: 1 }]), ':2: to must be after from'],
      [
        good + text([{ k: 'b', from: 1, to: 2, cc: 'D', x: 1 }]),
        ':2: x is not a known field; cc must be two letters',
      ],
    ] as const) {
      assert.equal(faultOf(content), fault);
    }
  });

  it('have lines of at most 4,096 octets, also across parts of the file', () => {
    const line = text([{ k: 'a', from: 0, to: 1 }]).trimEnd();
    assert.equal(faultOf(line.padEnd(4096)), null);
    assert.equal(faultOf(line.padEnd(4097)), ':1: is longer than 4096 octets');
    assert.equal(faultOf(`${line.padEnd(4096)}\n${text([{ k: 'b', from: 0, to: 1 }])}`), null);
    assert.equal(faultOf('x'.repeat(600_000)), ':1: is longer than 4096 octets');
    // Lines of 4,000 octets end at every place of a part of 262,144.
    const many = Array.from({ length: 200 }, (_, i) =>
      text([{ k: `i${String(i).padStart(3, '0')}`, from: 0, to: 1 }])
        .trimEnd()
        .padEnd(4000 + (i % 7)),
    );
    assert.equal(check(many.join('\n')).items, 200);
    assert.match(faultOf([...many, '{'].join('\n')) ?? '', /^:201: /);
  });

  it('have a bounded number of lines', () => {
    assert.equal(faultOf(text(windowsOf('a', 3)), { linesMax: 3 }), null);
    assert.equal(faultOf(text(windowsOf('a', 4)), { linesMax: 3 }), ':4: an items file has at most 3 lines');
  });

  it('have at most 64 windows of one item, in any order of the lines', () => {
    assert.equal(check(text(windowsOf('a', 64))).windows, 64);
    assert.equal(faultOf(text(windowsOf('a', 65))), ':65: the item has more than 64 windows');
    const mixed = [...windowsOf('b', 64), ...windowsOf('a', 64)];
    assert.deepEqual(check(text(mixed), { runBytes: 500 }).items, 2);
    assert.equal(
      faultOf(text([...mixed, { k: 'b', from: 1000, to: null }]), { runBytes: 500 }),
      ':129: the item has more than 64 windows',
    );
  });

  it('have windows that do not overlap, in any order of the lines', () => {
    const touching = [
      { k: 'a', from: 5, to: null },
      { k: 'a', from: 0, to: 5 },
    ];
    assert.equal(check(text(touching)).items, 1);
    const fault = ':2: the window overlaps that of line 1, of the same item';
    assert.equal(faultOf(text([touching[0]!, { k: 'a', from: 0, to: 6 }])), fault);
    assert.equal(faultOf(text([touching[0]!, { k: 'A', from: 5, to: 6 }])), fault);
    assert.equal(faultOf(text([touching[0]!, { k: 'a', from: null, to: null }])), fault);
    const apart = [
      { k: 'b', from: 0, to: 5 },
      { k: 'c', from: 0, to: 5 },
      { k: 'a', from: 0, to: 1 },
    ];
    assert.equal(
      faultOf(text([...apart, { k: 'b', from: 4, to: 9 }]), { runBytes: 60 }),
      ':4: the window overlaps that of line 1, of the same item',
    );
  });

  it('are accepted in every order, exactly when no item has overlapping windows', () => {
    const bound = fc.option(fc.integer({ min: -5, max: 5 }), { freq: 6 });
    const line = fc
      .tuple(fc.constantFrom('a', 'b', 'a-b', 'c1', 'c'), bound, bound)
      .filter(([, from, to]) => from === null || to === null || from < to)
      .map(([k, from, to]): Line => ({ k, from, to }));
    const meet = (a: Line, b: Line): boolean =>
      a.k === b.k && (a.from ?? -9) < (b.to ?? 9) && (b.from ?? -9) < (a.to ?? 9);
    const seen = { good: 0, bad: 0 };
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(40, 200, 9999),
        (lines, runBytes) => {
          const isGood = lines.every((a, i) => lines.every((b, j) => i === j || !meet(a, b)));
          seen[isGood ? 'good' : 'bad']++;
          assert.equal(faultOf(text(lines), { runBytes }) === null, isGood);
        },
      ),
      { numRuns: 300 },
    );
    assert.ok(seen.good > 50 && seen.bad > 50, JSON.stringify(seen));
  });

  it('tell how far the reading is, once more for a file that must be sorted', () => {
    const parts: [number, number][] = [];
    const onProgress = (done: number, total: number) => parts.push([done, total]);
    const content = text(windowsOf('b', 2));
    const { octets } = check(content, { onProgress });
    assert.deepEqual(parts, [[octets, octets]]);
    check(content + text(windowsOf('a', 2)), { onProgress });
    assert.equal(parts.length, 3);
  });

  it('are regular files', () => {
    assert.throws(() => checkItems(folder, { slug: 'x', sortFolder: folder }), /is not a regular file$/);
    assert.throws(() => checkItems(join(folder, 'none'), { slug: 'x', sortFolder: folder }), /ENOENT/);
  });
});
