/** The exchange map on disk, `<dataDir>/stock-map.json`, replaced atomically. */

import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFileSync } from '../../base/files/replace-file.ts';
import { every } from '../../base/lifecycle/every.ts';
import { at, dateOf, jsonOf } from '../providers/sources/parse.ts';
import { type ExchangeMap, isMic, type Mic, TAG } from './exchange-map.ts';

/** How often the file is checked, milliseconds. */
const LOOK_MS = 1000;

export function mapFile(dataDir: string): string {
  return join(dataDir, 'stock-map.json');
}

/** Throws the system's error; the previous map then stays. */
export function writeExchangeMap(dataDir: string, { asof, tag, listed }: ExchangeMap): void {
  mkdirSync(dataDir, { recursive: true });
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
export interface ExchangeMapWatch {
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
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.ino}:${stat.mtimeNs}`;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
