/** Files of public data that an operator replaces; running servers of the data directory take them up. */
import { UsageError } from '../../base/errors.ts';
import type { Config } from '../../ops/config/config.ts';
import { importExchangeMap } from '../../services/exchanges.ts';
import { updateDatabase } from '../../services/geoip-files.ts';

/** @throws UsageError where UQRP_GEOIP_DB names the file that is served; what `updateDatabase` throws */
export function replaceGeoip(
  { dataDir, geoipDb }: Pick<Config, 'dataDir' | 'geoipDb'>,
  file: string,
): { readonly type: string; readonly builtAt: number } {
  if (geoipDb !== null) {
    throw new UsageError('UQRP_GEOIP_DB names the file that is served: replace that one instead');
  }
  return updateDatabase(file, dataDir);
}

/** @returns how many tickers it has. @throws what `importExchangeMap` throws */
export function replaceStockMap(
  dataDir: string,
  file: string,
  { asof, tag }: { readonly asof: string; readonly tag: string },
  now: number,
): number {
  return importExchangeMap(dataDir, file, { asof, tag }, now).listed.size;
}
