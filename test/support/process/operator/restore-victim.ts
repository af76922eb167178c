/** Restores a backup and kills itself after so many files: `restore-victim.ts FOLDER DATA_DIR FILES`. */
import { restoreInto } from '../../../../src/process/operator/backup.ts';

const [folder, dataDir, files] = process.argv.slice(2);
restoreInto(folder!, { dataDir: dataDir!, databaseUrl: null }, Date.now, (written) => {
  if (written === Number(files)) process.kill(process.pid, 'SIGKILL');
});
