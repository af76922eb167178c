import { join } from 'node:path';
import { makeFolderSync, replaceFileSync, systemFiles } from '../base/files.ts';
import { every } from '../base/lifecycle/loop.ts';
import { at, dateOf, jsonOf } from './providers/source.ts';

/** ISO 10383 codes of the supported exchanges. */
export const MICS = ['XNAS', 'XNYS', 'XASE', 'ARCX', 'BATS', 'IEXG'] as const;
export type Mic = (typeof MICS)[number];

export function isMic(text: string): text is Mic {
  return (MICS as readonly string[]).includes(text);
}

export interface ExchangeMap {
  /** Date of the snapshot, `YYYY-MM-DD`. */
  readonly asof: string;
  /** Source of the snapshot, named by the operator. */
  readonly tag: string;
  /** By upper-case ticker, with a share class after a dot. */
  readonly listed: ReadonlyMap<string, Mic>;
}

const DAY_MS = 86_400_000;
/** Days after which a snapshot is no longer used. */
const MAP_DAYS_MAX = 120;
/** The date may be tomorrow in this time zone. */
const DAYS_AHEAD = 1;

/** Characters that need no escape in an envelope. */
const TAG = /^[A-Za-z0-9._-]{1,32}$/;

/** Whether the snapshot is at most 120 days old. `now` in milliseconds since the epoch. */
export function isCurrent(map: ExchangeMap, now: number): boolean {
  const days = Math.floor(now / DAY_MS) - Date.parse(`${map.asof}T00:00:00Z`) / DAY_MS;
  return days <= MAP_DAYS_MAX && days >= -DAYS_AHEAD;
}

// The exchange map on disk, `<dataDir>/stock-map.json`, replaced atomically.

/** How often the file is checked, milliseconds. */
const LOOK_MS = 1000;

export function mapFile(dataDir: string): string {
  return join(dataDir, 'stock-map.json');
}

/** Throws the system's error; the previous map then stays. */
function writeExchangeMap(dataDir: string, { asof, tag, listed }: ExchangeMap): void {
  makeFolderSync(dataDir, 0o700);
  const text = `${JSON.stringify({ asof, tag, listed: Object.fromEntries(listed) })}\n`;
  // Public data: the umask decides who reads it.
  replaceFileSync(mapFile(dataDir), text, 0o666);
}

/** Null when the file is missing or invalid. */
export function readExchangeMap(dataDir: string): ExchangeMap | null {
  const text = readIfThere(mapFile(dataDir));
  const data = text === null ? undefined : jsonOf(text);
  const asof = dateOf(at(data, 'asof'));
  const tag = at(data, 'tag');
  const listed = at(data, 'listed');
  if (asof === null || typeof tag !== 'string' || !TAG.test(tag)) return null;
  if (typeof listed !== 'object' || listed === null) return null;
  const rows = Object.entries(listed).filter((row): row is [string, Mic] => isMic(String(row[1])));
  return { asof, tag, listed: new Map(rows) };
}

/** The current map: a running server uses an import within a second. */
interface ExchangeMapWatch {
  readonly current: () => ExchangeMap | null;
  stop(): void;
}

export function watchExchangeMap(dataDir: string): ExchangeMapWatch {
  const path = mapFile(dataDir);
  let seen = stateOf(path);
  let map = readExchangeMap(dataDir);
  const watching = every({
    ms: LOOK_MS,
    task: () => {
      const state = stateOf(path);
      if (state === seen) return;
      seen = state;
      map = readExchangeMap(dataDir);
    },
    // A file that cannot be checked changes nothing: the map in use stays.
    onError() {},
  });
  return { current: () => map, stop: () => void watching.stop() };
}

/** Includes the inode: two replacements may share one timestamp. */
function stateOf(path: string): string | null {
  const found = systemFiles.facts(path);
  return found === null ? null : `${found.inode}:${found.changedMs}`;
}

function readIfThere(path: string): string | null {
  try {
    return systemFiles.read(path).toString();
  } catch {
    return null;
  }
}

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
  const map: ExchangeMap = { asof, tag, listed: parseSymbolDirectory(systemFiles.read(file).toString()) };
  if (!isCurrent(map, now)) throw new DirectoryError('the date is in the future, or more than 120 days ago');
  writeExchangeMap(dataDir, map);
  return map;
}
