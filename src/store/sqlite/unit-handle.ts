import { Transaction } from 'kysely';
import type { Database } from '../schema.ts';
import type { Tx } from '../store.ts';
import { handleProps, type SqliteConnection } from './driver.ts';

/** The Kysely handle of one unit of work. */
export interface Unit {
  readonly tx: Tx;
  /** From here on statements on `tx` reject: a forgotten `await` would otherwise write into the next unit. */
  end(): void;
}

/** Makes the handle of a unit on the writer connection. */
export function newUnit(connection: SqliteConnection): Unit {
  let ended = false;
  const props = handleProps(async (query) => {
    if (ended) throw new Error('the unit of work is over');
    return connection.execute(query);
  });
  return {
    tx: new Transaction<Database>(props),
    end() {
      ended = true;
    },
  };
}
