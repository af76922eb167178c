import { updateDatabase } from '../../services/geoip/update.ts';
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
