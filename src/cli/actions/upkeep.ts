/** `backup`, `restore` and `doctor`. */
import type { Clock } from '../../base/time.ts';
import { makeBackup, restoreInto } from '../../process/operator/backup.ts';
import { commandConfig, configWithData } from '../context.ts';
import { EXIT, print, table } from '../output.ts';

export function backup(clock: Clock, folder: string, json: boolean): void {
  const made = makeBackup(configWithData(), clock, folder);
  print(json ? JSON.stringify(made) : [`${made.files} files in ${made.folder}`, ...made.notes].join('\n'));
}

export function restore(folder: string, json: boolean): void {
  const config = commandConfig();
  const { files, made_at } = restoreInto(folder, config);
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
