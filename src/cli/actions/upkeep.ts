/** `backup`, `restore`, `doctor`, `geoip update` and `stock-map import`. */
import { UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { makeBackup, restoreInto } from '../../process/operator/backup.ts';
import { replaceGeoip, replaceStockMap } from '../../process/operator/provider-files.ts';
import { commandConfig, configWithData } from '../context.ts';
import { EXIT, print, table } from '../output.ts';

export function backup(clock: Clock, folder: string, json: boolean): void {
  const made = makeBackup(configWithData(), clock, folder);
  print(json ? JSON.stringify(made) : [`${made.files} files in ${made.folder}`, ...made.notes].join('\n'));
}

export function restore(clock: Clock, folder: string, json: boolean): void {
  const config = commandConfig();
  const { files, made_at } = restoreInto(folder, config, clock);
  print(
    json
      ? JSON.stringify({ data_dir: config.dataDir, files: files.length, made_at })
      : `${files.length} files of ${made_at} restored into ${config.dataDir}`,
  );
}

/** Ends with 1 when something is wrong. */
export async function doctor(clock: Clock, json: boolean): Promise<void> {
  // Loaded here: backup and restore need nothing of it.
  const { examine } = await import('../../process/operator/doctor.ts');
  const findings = await examine(configWithData(), clock);
  if (json) print(JSON.stringify(findings));
  else
    print(
      table([['CHECK', 'STATE', 'FOUND'], ...findings.map(({ check, state, text }) => [check, state, text])]),
    );
  if (findings.some(({ state }) => state === 'wrong')) process.exitCode = EXIT.failed;
}

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
