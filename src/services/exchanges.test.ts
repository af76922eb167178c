import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NOW } from '../../test/support/services/check-service.ts';
import { fixture } from '../../test/support/services/providers/rig.ts';
import {
  DirectoryError,
  importExchangeMap,
  mapFile,
  parseSymbolDirectory,
  readExchangeMap,
  watchExchangeMap,
} from './exchanges.ts';

const FILE = fileURLToPath(new URL('../../test/fixtures/providers/nasdaqtraded.txt', import.meta.url));
const TEXT = fixture('nasdaqtraded.txt');

describe('the symbol directory', () => {
  it('is read by its headings', () => {
    const expected = {
      A: 'XNYS',
      AAPL: 'XNAS',
      ARKK: 'ARCX',
      'BRK.B': 'XNYS',
      CBOE: 'BATS',
      IEXT: 'IEXG',
      IMO: 'XASE',
    };
    assert.deepEqual(Object.fromEntries(parseSymbolDirectory(TEXT)), expected);
    assert.deepEqual(Object.fromEntries(parseSymbolDirectory(TEXT.replaceAll('\n', '\r\n'))), expected);
    const swapped = TEXT.replace('Symbol|Security Name', 'Security Name|Symbol').replaceAll(
      /^Y\|([^|]*)\|([^|]*)/gm,
      'Y|$2|$1',
    );
    assert.deepEqual(Object.fromEntries(parseSymbolDirectory(swapped)), expected);
  });

  it('is not read when it is not whole', () => {
    for (const text of [
      '',
      'nonsense',
      TEXT.split('File Creation')[0]!,
      TEXT.replace('Listing Exchange', 'Exchange'),
      TEXT.replace('|N|100|N|N||AAPL|N', '|N|100'),
      TEXT.replace('Y|AAPL|', 'Y|AAPL|x|'),
      `${TEXT.split('\n')[0]}\nFile Creation Time: 1231202521:30|||||||||||`,
    ]) {
      assert.throws(() => parseSymbolDirectory(text), DirectoryError, text.slice(0, 40));
    }
  });
});

describe('stock-map import', () => {
  const directory = mkdtempSync(join(tmpdir(), 'uqrp-stock-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const good = { asof: '2025-12-31', tag: 'nasdaqtrader' };

  it('takes a date and a tag that can be served', () => {
    for (const bad of [
      { asof: '2025-12-32' },
      { asof: '31.12.2025' },
      { asof: '2026-01-03' },
      { asof: '2025-09-02' },
      { tag: '' },
      { tag: 'a;b' },
      { tag: 'x'.repeat(33) },
    ]) {
      assert.throws(() => importExchangeMap(directory, FILE, { ...good, ...bad }, NOW), DirectoryError);
    }
    assert.deepEqual(readdirSync(directory), []);
    assert.equal(readExchangeMap(directory), null);
  });

  it('puts the map in its place, and keeps it when another file is bad', async () => {
    const watch = watchExchangeMap(directory);
    try {
      assert.equal(watch.current(), null);
      const map = importExchangeMap(directory, FILE, good, NOW);
      assert.deepEqual(readExchangeMap(directory), map);
      const other = join(directory, 'other.txt');
      writeFileSync(other, 'nonsense');
      assert.throws(() => importExchangeMap(directory, other, good, NOW), DirectoryError);
      assert.deepEqual(readExchangeMap(directory), map);
      assert.deepEqual(readdirSync(directory).sort(), ['other.txt', 'stock-map.json']);
      while (watch.current() === null) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.deepEqual(watch.current(), map);
    } finally {
      watch.stop();
    }
  });

  it('has no map where the file is none of ours', () => {
    for (const text of [
      '',
      '{}',
      '{"asof":"2025-12-31","tag":"a;b","listed":{}}',
      '{"asof":"x","tag":"a","listed":{}}',
    ]) {
      writeFileSync(mapFile(directory), text);
      assert.equal(readExchangeMap(directory), null, text);
    }
    writeFileSync(mapFile(directory), '{"asof":"2025-12-31","tag":"a","listed":{"A":"XNYS","B":"MARS"}}');
    assert.deepEqual(readExchangeMap(directory)?.listed, new Map([['A', 'XNYS']]));
  });
});
