import { readFileSync } from 'node:fs';
import { dateOf } from '../providers/sources/parse.ts';
import { type ExchangeMap, isCurrent, TAG } from './exchange-map.ts';
import { writeExchangeMap } from './map-file.ts';
import { DirectoryError, parseSymbolDirectory } from './symbol-directory.ts';

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
