import { readFileSync } from 'node:fs';
import { dateOf } from '../providers/sources/parse.ts';
import { type ExchangeMap, isCurrent, type Mic, TAG } from './exchange-map.ts';
import { writeExchangeMap } from './map-file.ts';

const EXCHANGES: ReadonlyMap<string, Mic> = new Map(
  Object.entries({ Q: 'XNAS', N: 'XNYS', A: 'XASE', P: 'ARCX', Z: 'BATS', V: 'IEXG' }) as [string, Mic][],
);

/** Columns that are read, by heading. */
const COLUMNS = { symbol: 'Symbol', exchange: 'Listing Exchange', test: 'Test Issue' } as const;
/** Root and class of shares. Preferred shares, rights and units have other signs and are skipped. */
const TICKER = /^[A-Z][A-Z0-9]{0,5}(?:\.[A-Z]{1,2})?$/;
const TRAILER = 'File Creation Time:';

/** The file is invalid; the message names the line. */
export class DirectoryError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DirectoryError';
  }
}

/**
 * Parses nasdaqtraded.txt: a heading, one line per security with `|` between fields, and a trailer, without which the
 * file is incomplete. Skips test issues and tickers that no query can contain. Throws DirectoryError.
 */
export function parseSymbolDirectory(text: string): ReadonlyMap<string, Mic> {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  const columns = readHeading(lines[0] ?? '');
  if (!lines.at(-1)?.startsWith(TRAILER))
    throw new DirectoryError('the file does not end with its creation time');
  const listed = new Map<string, Mic>();
  for (const [index, line] of lines.slice(1, -1).entries()) {
    const fields = line.split('|');
    if (fields.length !== columns.count) throw new DirectoryError(`line ${index + 2} has other columns`);
    const symbol = fields[columns.symbol]!;
    const mic = EXCHANGES.get(fields[columns.exchange]!);
    if (mic !== undefined && fields[columns.test] !== 'Y' && TICKER.test(symbol)) listed.set(symbol, mic);
  }
  if (listed.size === 0) throw new DirectoryError('the file lists nothing');
  return listed;
}

interface Columns {
  readonly symbol: number;
  readonly exchange: number;
  readonly test: number;
  readonly count: number;
}

function readHeading(line: string): Columns {
  const headings = line.replace(/^\uFEFF/, '').split('|');
  const find = (heading: string): number => {
    const at = headings.indexOf(heading);
    if (at < 0) throw new DirectoryError(`the heading lacks ${heading}`);
    return at;
  };
  return {
    symbol: find(COLUMNS.symbol),
    exchange: find(COLUMNS.exchange),
    test: find(COLUMNS.test),
    count: headings.length,
  };
}

/**
 * Imports a symbol directory file (nasdaqtraded.txt) atomically; servers use it within a second. `asof`: `YYYY-MM-DD`,
 * not in the future or too old. `tag`: sent as `exchsrc`. Throws DirectoryError for bad input, or the system's error.
 */
export function importExchangeMap(
  dataDir: string,
  file: string,
  { asof, tag }: { readonly asof: string; readonly tag: string },
  now: number,
): ExchangeMap {
  if (dateOf(asof) === null) throw new DirectoryError('the date is written YYYY-MM-DD');
  if (!TAG.test(tag))
    throw new DirectoryError('a tag has 1 to 32 letters, digits, dots, hyphens or underscores');
  const map: ExchangeMap = { asof, tag, listed: parseSymbolDirectory(readFileSync(file, 'utf8')) };
  if (!isCurrent(map, now)) throw new DirectoryError('the date is in the future, or more than 120 days ago');
  writeExchangeMap(dataDir, map);
  return map;
}
