/**
 * Connections to the file of a simulated database. Opening one, reading the schema and compiling statements takes most of the time of a start:
 * what one process of a simulation closes, the next one opens, with the statements that were compiled, also in the next seed.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncOptions, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** Unlike `tmpdir`, in memory wherever Linux is. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** A file that has become larger is not used again: each look for erased octets reads all of it. */
const FILE_MAX = 2_000_000;

/** No other process opens the file, so its locks are kept in this one: locks of the system took a sixth of the time of a seed. */
const addressOf = (path: string): URL => new URL(`${pathToFileURL(path).href}?vfs=unix-excl`);

interface Kept {
  readonly connection: DatabaseSync;
  readonly statements: Map<string, StatementSync>;
}

/** Of the file that is in use: those that nobody has now, by what they were opened with. */
let idle = new Map<string, Kept[]>();
let inUse = 0;
let file: string | null = null;
/** Number of the file that is in use. */
let generation = 0;

/** What the store holds in place of a connection: after `close` it is shut, as a real one is. */
class Lent implements Pick<DatabaseSync, 'prepare' | 'close' | 'isOpen' | 'isTransaction'> {
  #kept: Kept | null;
  readonly #name: string;
  readonly #generation = generation;

  constructor(kept: Kept, name: string) {
    this.#kept = kept;
    this.#name = name;
    inUse++;
  }

  get isOpen(): boolean {
    return this.#kept !== null;
  }

  get isTransaction(): boolean {
    return this.#kept?.connection.isTransaction === true;
  }

  prepare(sql: string): StatementSync {
    if (this.#kept === null) throw new Error('database is not open');
    const { connection, statements } = this.#kept;
    const known = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, known);
    return known;
  }

  close(): void {
    if (this.#kept === null) throw new Error('database is not open');
    const kept = this.#kept;
    this.#kept = null;
    if (kept.connection.isTransaction) kept.connection.exec('rollback');
    // Of a file that is gone.
    if (this.#generation !== generation) {
      kept.connection.close();
      return;
    }
    idle.set(this.#name, [...(idle.get(this.#name) ?? []), kept]);
    inUse--;
  }
}

/** Opens a connection to the file of this seed, for one process. */
export function connect(_: string, options: DatabaseSyncOptions): Lent {
  const name = JSON.stringify(options);
  const kept = idle.get(name)?.pop() ?? {
    connection: new DatabaseSync(addressOf(file!), options),
    statements: new Map<string, StatementSync>(),
  };
  return new Lent(kept, name);
}

let folder: string | null = null;
let folders = 0;
let clear: (() => void) | null = null;

/**
 * A migrated database with no row but those of the migration, for one seed at a time.
 * @param make makes one at that path, once
 */
export async function emptyDatabase(
  make: (path: string) => Promise<void>,
): Promise<{ readonly file: string; readonly template: string }> {
  if (folder === null) {
    const made = mkdtempSync(join(FOLDER, 'uqrp-world-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    await make(join(made, 'template'));
    folder = made;
  }
  const template = join(folder, 'template');
  if (file !== null && inUse === 0 && clear !== null && statSync(file).size <= FILE_MAX) {
    clear();
    return { file, template };
  }
  // Whoever still has a connection to the last one keeps it.
  dropFile();
  const home = join(folder, `${++folders}`);
  mkdirSync(home);
  file = join(home, 'db');
  copyFileSync(template, file);
  clear = overwriting(file, template).overwrite;
  return { file, template };
}

/** The next seed gets another file: connections of this one are in an unknown state. */
function dropFile(): void {
  for (const { connection } of [...idle.values()].flat()) connection.close();
  idle = new Map();
  inUse = 0;
  generation++;
  clear = null;
  if (file !== null) rmSync(join(file, '..'), { recursive: true, force: true });
  file = null;
}

/** The file of this seed has what is in this one, in one commit, under all who have it open. */
export function replaceContent(from: string): void {
  const { overwrite, close } = overwriting(file!, from);
  overwrite();
  close();
}

interface Overwriting {
  /** Puts the rows of the other file in the place of all rows. The zeros of deleted ones stay. */
  readonly overwrite: () => void;
  readonly close: () => void;
}

function overwriting(path: string, from: string): Overwriting {
  const connection = new DatabaseSync(addressOf(path));
  connection.exec('pragma synchronous = OFF');
  connection.exec('pragma secure_delete = ON');
  connection.exec('pragma foreign_keys = OFF');
  connection.exec(`attach '${from}' as other`);
  const tables = connection.prepare("select name from sqlite_schema where type = 'table'").all() as {
    name: string;
  }[];
  const has = (name: string): boolean =>
    connection.prepare(`select 1 from other.${name} limit 1`).get() !== undefined;
  const statements = [
    'begin immediate',
    ...tables.map(({ name }) => `delete from main.${name}`),
    ...tables
      .filter(({ name }) => has(name))
      .map(({ name }) => `insert into main.${name} select * from other.${name}`),
    'commit',
    'pragma wal_checkpoint(TRUNCATE)',
  ].map((sql) => connection.prepare(sql));
  return {
    overwrite() {
      for (const statement of statements) statement.all();
    },
    close: () => connection.close(),
  };
}
