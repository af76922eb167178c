import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CARD_RANGES, GS1_PREFIXES } from '../../scripts/registry-tables.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { readManifestFile } from '../../src/control/datasets/attest.ts';
import { checkItems } from '../../src/control/datasets/items.ts';
import { readItem, selectWindow } from '../../src/protocol/datasets/item.ts';
import { readManifest } from '../../src/protocol/datasets/manifest.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/registry.ts', import.meta.url));
const GTINS = 100_000;

interface Line {
  readonly k: string;
  readonly from: string | number | null;
  readonly to: string | number | null;
  readonly brand: string;
  readonly cc: string;
}

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
const linesIn = (folder: string, slug: string): Line[] =>
  readFileSync(join(folder, slug, 'items.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('sample registry', () => {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-registry-'));
  const datasets = new Map<string, Line[]>();
  const linesOf = (slug: string): Line[] => datasets.get(slug)!;

  before(() => {
    const { stdout, stderr } = run(folder);
    assert.equal(stderr, '');
    for (const [, slug, count] of stdout.matchAll(/^(\S+): (\d+) lines in /gm)) {
      datasets.set(slug!, linesIn(folder, slug!));
      assert.equal(linesOf(slug!).length, Number(count));
    }
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('has files that attest accepts, sorted by key', () => {
    assert.deepEqual([...datasets.keys()], ['bin-sample', 'currency', 'gtin-sample']);
    for (const [slug, lines] of datasets) {
      assert.equal(readManifestFile(join(folder, slug, 'manifest.json'), readManifest).slug, slug);
      const checked = checkItems(join(folder, slug, 'items.jsonl'), { slug, sortFolder: folder });
      assert.equal(checked.windows, lines.length);
      assert.ok(
        lines.every(({ k }, i) => i === 0 || lines[i - 1]!.k <= k),
        slug,
      );
      assert.equal(new Set(lines.map(({ k }) => k)).size, checked.items);
      if (slug === 'gtin-sample') assert.equal(checked.items, GTINS);
    }
  });

  it('follows from its options', () => {
    const made = (name: string, ...options: readonly string[]) => {
      run(join(folder, name), '--gtins', '600', '--bins', '200', ...options);
      return linesIn(join(folder, name), 'gtin-sample');
    };
    assert.deepEqual(made('again'), made('first'));
    assert.notDeepEqual(made('other', '--seed', '8'), made('first'));
  });

  it('has GTINs with right check digits and prefixes that GS1 has given out', () => {
    const lengths = new Map<number, number>();
    for (const { k, cc } of linesOf('gtin-sample')) {
      lengths.set(k.length, (lengths.get(k.length) ?? 0) + 1);
      // Of 14 digits, the odd places count three times; with the check digit the sum is a multiple of ten.
      const digits = k.padStart(14, '0').split('').map(Number);
      assert.equal(digits.reduce((sum, digit, i) => sum + digit * (i % 2 === 0 ? 3 : 1), 0) % 10, 0, k);
      const prefix = Number({ 8: k, 12: `0${k}`, 13: k, 14: k.slice(1) }[k.length]!.slice(0, 3));
      const range = GS1_PREFIXES.find(({ first, last }) => first <= prefix && prefix <= last);
      assert.equal(range?.cc, cc, k);
    }
    for (const length of [8, 12, 13, 14]) assert.ok(lengths.get(length)! > 300, `${length} digits`);
  });

  it('has tables in ascending order without overlap', () => {
    for (const ranges of [GS1_PREFIXES, CARD_RANGES]) {
      for (const [i, { first, last }] of ranges.entries()) {
        assert.ok(first <= last && (i === 0 || ranges[i - 1]!.last < first), `${first}`);
      }
    }
    for (const { k, brand } of linesOf('bin-sample')) {
      const six = Number(k.slice(0, 6));
      assert.equal(CARD_RANGES.find(({ first, last }) => first <= six && six <= last)?.network, brand, k);
    }
  });

  it('has every kind of history', () => {
    const lines = linesOf('gtin-sample');
    const byItem = Map.groupBy(lines, ({ k }) => k);
    const has = (what: string, count: number) => assert.ok(count > 10, `${what}: ${count}`);
    has('one window', [...byItem.values()].filter(({ length }) => length === 1).length);
    has('five windows or more', [...byItem.values()].filter(({ length }) => length > 4).length);
    has('no beginning', lines.filter(({ from }) => from === null).length);
    has('no end', lines.filter(({ to }) => to === null).length);
    has('from a leap day', lines.filter(({ from }) => String(from).endsWith('-02-29')).length);
    has('to a leap day', lines.filter(({ to }) => String(to).endsWith('-02-29')).length);
    has('unix seconds', lines.filter(({ from }) => typeof from === 'number').length);
    has('not begun', lines.filter(({ from }) => String(from) > '2027' && typeof from === 'string').length);
    // One item in 10,000 has as many windows as are allowed.
    assert.equal(Math.max(...[...byItem.values()].map(({ length }) => length)), LIMITS.datasetWindows);
  });

  it('tells the currency of a country on both sides of a change', () => {
    const windows = Map.groupBy(
      linesOf('currency').map((line) => readItem(line, 'currency')),
      (item) => (typeof item === 'string' ? assert.fail(item) : item.item),
    );
    assert.equal(windows.size, 54);
    const now = Date.parse('2026-11-22T00:00:00Z');
    const currency = (country: string, at: string): string | null => {
      const items = windows.get(country)!.filter((item) => typeof item !== 'string');
      const selected = selectWindow(items, Date.parse(at) / 1000, now);
      return selected.kind === 'window' ? selected.window.brand : null;
    };
    assert.equal(currency('hr', '2022-12-31T23:59:59Z'), 'HRK');
    assert.equal(currency('hr', '2023-01-01T00:00:00Z'), 'EUR');
    assert.equal(currency('bg', '1999-07-04T23:59:59Z'), 'BGL');
    assert.equal(currency('bg', '2025-12-31T23:59:59Z'), 'BGN');
    assert.equal(currency('tr', '2004-12-31T23:59:59Z'), 'TRL');
    assert.equal(currency('de', '1994-12-31T23:59:59Z'), null);
  });

  it('is written by a command that refuses what it does not know', () => {
    const made = run(join(folder, 'made'), '--gtins', '50', '--bins', '40', '--version', '2.0.1');
    assert.equal(made.status, 0, made.stderr);
    assert.match(
      made.stdout,
      /^bin-sample: \d+ lines in .*\ncurrency: 89 lines in .*\ngtin-sample: \d+ lines in /,
    );
    const manifest = JSON.parse(readFileSync(join(folder, 'made/gtin-sample/manifest.json'), 'utf8'));
    assert.equal(manifest.url, 'https://data.example.net/gtin-sample-2.0.1.jsonl');
    for (const wrong of [
      [],
      [folder, '--gtin', '5'],
      [folder, '--gtins', 'x'],
      [folder, '--gtins', '0'],
      [folder, folder],
    ]) {
      const { status, stderr } = run(...wrong);
      assert.equal(status, 2);
      assert.match(stderr, /--gtins/);
    }
  });
});
