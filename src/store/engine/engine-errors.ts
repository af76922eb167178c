/** Result codes of SQLite, of which the low byte is the primary code (sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;
const SQLITE_CONSTRAINT_UNIQUE = 2067;

/** SQLSTATE of PostgreSQL (its manual, appendix A). */
const PG_UNIQUE_VIOLATION = '23505';
const PG_DISK_FULL = '53100';
const PG_TRANSIENT: ReadonlySet<unknown> = new Set(['40001', '40P01']);

/** Whether a statement failed because a unique value is taken, on either engine. */
export function isUniqueViolation(error: unknown): boolean {
  const { errcode, code } = codes(error);
  return (
    errcode === SQLITE_CONSTRAINT_UNIQUE ||
    errcode === SQLITE_CONSTRAINT_PRIMARYKEY ||
    code === PG_UNIQUE_VIOLATION
  );
}

/** SQLite: another process holds the lock. */
export function isBusy(error: unknown): boolean {
  const { errcode } = codes(error);
  return typeof errcode === 'number' && (errcode & 0xff) === SQLITE_BUSY;
}

/** PostgreSQL: a deadlock or serialization failure. The same unit, run again, may well succeed. */
export function isTransient(error: unknown): boolean {
  return PG_TRANSIENT.has(codes(error).code);
}

/** Whether the disk of the database is full. The unit wrote nothing; later units succeed once there is space. */
export function isDiskFull(error: unknown): boolean {
  const { errcode, code } = codes(error);
  return (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_FULL) || code === PG_DISK_FULL;
}

function codes(error: unknown): { errcode?: unknown; code?: unknown } {
  return typeof error === 'object' && error !== null ? error : {};
}
