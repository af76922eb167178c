import { UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { replaceGeoip, replaceStockMap } from '../../process/operator/provider-files.ts';
import { configWithData } from '../context.ts';
import { print } from '../output.ts';

/** Puts a database of addresses in the place of the one in use; running servers of this data directory take it up. */
export function geoipUpdate({ file }: { readonly file: string }, json: boolean): void {
  const { type, builtAt } = replaceGeoip(configWithData(), file);
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
  const { asof, tag } = options;
  const tickers = replaceStockMap(configWithData().dataDir, file, options, clock());
  print(json ? JSON.stringify({ tickers, asof, tag }) : `${tickers} tickers as of ${asof}`);
}
