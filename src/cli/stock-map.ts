import { loadConfig } from '../config/config.ts';
import { readEnvironment } from '../config/env.ts';
import type { Clock } from '../core/clock.ts';
import { importExchangeMap } from '../edge/services/stock/import.ts';
import { print } from './output.ts';

export interface StockMapOptions {
  readonly asof: string;
  readonly tag: string;
}

/** Puts a snapshot of listing exchanges in the place of the one in use; running servers take it up. */
export function stockMapImport(clock: Clock, file: string, options: StockMapOptions, json: boolean): void {
  const { dataDir } = loadConfig(readEnvironment());
  const { asof, tag, listed } = importExchangeMap(dataDir, file, options, clock());
  print(json ? JSON.stringify({ tickers: listed.size, asof, tag }) : `${listed.size} tickers as of ${asof}`);
}
