import type { Clock } from '../../base/time.ts';
import { importExchangeMap } from '../../services/exchanges.ts';
import { updateDatabase } from '../../services/geoip-files.ts';
import { configWithData } from '../context.ts';
import { print, UsageError } from '../output.ts';

/** Puts a database of addresses in the place of the one in use; running servers of this data directory take it up. */
export function geoipUpdate({ file }: { readonly file: string }, json: boolean): void {
  const { dataDir, geoipDb } = configWithData();
  if (geoipDb !== null) {
    throw new UsageError('UQRP_GEOIP_DB names the file that is served: replace that one instead');
  }
  const { type, builtAt } = updateDatabase(file, dataDir);
  const built = new Date(builtAt).toISOString();
  print(json ? JSON.stringify({ type, built_at: built }) : `geoip answers from ${type} of ${built}`);
}

export interface StockMapOptions {
  readonly asof: string;
  readonly tag: string;
}

/** Puts a snapshot of listing exchanges in the place of the one in use; running servers take it up. */
export function stockMapImport(clock: Clock, file: string, options: StockMapOptions, json: boolean): void {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(options.asof)) throw new UsageError('--asof takes a date as YYYY-MM-DD');
  if (!/^[A-Za-z0-9._-]{1,32}$/.test(options.tag)) {
    throw new UsageError('--tag takes 1 to 32 letters, digits, dots, hyphens or underscores');
  }
  const { dataDir } = configWithData();
  const { asof, tag, listed } = importExchangeMap(dataDir, file, options, clock());
  print(json ? JSON.stringify({ tickers: listed.size, asof, tag }) : `${listed.size} tickers as of ${asof}`);
}
