import { unauthenticated } from '../../base/errors.ts';
import type { Tx } from '../../store/store.ts';
import { lockCustomer } from '../../store/tables/customers.ts';
import { findMember } from '../../store/tables/organizations.ts';
import type { Actor } from './actor.ts';

/**
 * For a unit that adds to what a customer owns: holds the customer's row until the unit ends. The account may have been deleted since
 * the request began, and its deletion has already passed what the unit would add.
 * @throws AppError 401
 */
export async function holdCustomer(tx: Tx, id: string): Promise<void> {
  if (!(await lockCustomer(tx, id))) throw unauthenticated('Credentials are not valid');
}

/**
 * For a unit that makes what ends with a membership: holds the customer's row, and refuses a user who was removed since the request
 * began. The removal has already passed what the unit would make. @throws AppError 401
 */
export async function holdActor(tx: Tx, { customerId, userId }: Actor): Promise<void> {
  await holdCustomer(tx, customerId);
  if (userId === null || userId === customerId) return;
  if ((await findMember(tx, customerId, userId)) === null) throw unauthenticated('Credentials are not valid');
}
