import { unauthenticated } from '../../core/errors.ts';
import type { Tx } from '../store/store.ts';
import { lockCustomer } from '../store/tables/customers.ts';

/**
 * For a unit that adds to what a customer owns: holds the customer's row until the unit ends. The account may have been deleted since
 * the request began, and its deletion has already passed what the unit would add.
 * @throws AppError 401
 */
export async function holdCustomer(tx: Tx, id: string): Promise<void> {
  if (!(await lockCustomer(tx, id))) throw unauthenticated('Credentials are not valid');
}
