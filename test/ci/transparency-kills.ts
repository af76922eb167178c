/** Kills signers of the transparency log with SIGKILL, on both engines. Exit code 1 at a gap, or at two roots of one size. */
import { killSigners } from '../faults/transparency-kill.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';

const kills = Number(process.argv[2] ?? 40);
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
process.stdout.write(`seed ${seed}: node test/ci/transparency-kills.ts ${kills} ${seed}\n`);

function tell(engine: string, { entries, signed, published }: Awaited<ReturnType<typeof killSigners>>): void {
  process.stdout.write(
    `${engine}: ${kills} kills, ${entries} entries, signed ${signed}, published ${published}\n`,
  );
}

tell('SQLite', await killSigners(kills, seed, null));
if (postgresMissing() === null) {
  const database = await postgresDatabase();
  try {
    tell('PostgreSQL', await killSigners(kills, seed, database.url));
  } finally {
    await database.drop();
  }
}
