import { insertText, statement } from '../engine/statement.ts';
import type { JwtKeysTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

const FIND = statement<{ kid: string }, JwtKeysTable>('select * from jwt_keys where kid = :kid');
const FIND_OF = statement<{ period: number }, JwtKeysTable>('select * from jwt_keys where period = :period');
const ADD = statement<JwtKeysTable>(
  insertText('jwt_keys', 'period, kid, public_key, private_key', 'on conflict do nothing'),
);
const DELETE_BEFORE = statement<{ oldest: number }>('delete from jwt_keys where period < :oldest');

export function findJwtKey(db: Db, kid: string): Promise<JwtKeysTable | null> {
  return FIND.first(db, { kid });
}

export function findJwtKeyOf(db: Db, period: number): Promise<JwtKeysTable | null> {
  return FIND_OF.first(db, { period });
}

/** Adds the key of its period, unless another process has. Deletes keys of periods before `oldest`. */
export async function addJwtKey(tx: Tx, key: JwtKeysTable, oldest: number): Promise<void> {
  await ADD.run(tx, key);
  await DELETE_BEFORE.run(tx, { oldest });
}
