import type { Tx } from '../store/store.ts';
import { deleteCustomer, lockClosingCustomer } from '../store/tables/customers.ts';
import { deleteAnswersOf } from '../store/tables/idempotency-keys.ts';
import { lockNextOpenNamespace } from '../store/tables/namespaces.ts';
import { CLOSING_UNIT, closeInUnit } from './delete.ts';

/**
 * One unit of the deletion of a closed customer: closes a namespace, or deletes stored answers, or, when nothing is left, the
 * customer. The row is the progress, so any process goes on after a crash.
 * @returns whether another unit can follow at once; false also while namespaces or webhooks are being deleted
 */
export async function deleteSomeOfCustomer(tx: Tx, id: string, now: number): Promise<boolean> {
  if (!(await lockClosingCustomer(tx, id))) return false;
  const namespace = await lockNextOpenNamespace(tx, id);
  if (namespace !== null) {
    await closeInUnit(tx, namespace, now);
    return true;
  }
  if ((await deleteAnswersOf(tx, id, CLOSING_UNIT)) === CLOSING_UNIT) return true;
  await deleteCustomer(tx, id);
  return false;
}
