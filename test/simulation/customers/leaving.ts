import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import { type Customer, pickFrom } from './customer.ts';

/** Part of those who leave that have a suspended namespace, and part that write meanwhile. */
const SUSPENDED = 0.4;
const WRITING = 0.6;

/**
 * A customer deletes the account. Where no answer tells what came of it, he never comes back to it either.
 * @param write something that he writes
 * @param onLeft another one takes his place; `isDone`: he was told that the account is deleted
 */
export function createLeaving(
  clients: Clients,
  random: Random,
  write: (customer: Customer) => Promise<void>,
  onLeft: (customer: Customer, isDone: boolean) => void,
): (customer: Customer) => Promise<void> {
  /** What he has kept opens nothing. The model refuses every answer but a refusal. */
  async function knock({ account, keys }: Customer, session: string): Promise<void> {
    const tokens = [['session', session], ...[...keys].map(([id, { token }]) => [`key ${id}`, token])];
    for (const [credential, token] of tokens)
      for (const path of ['/me', '/records'])
        await clients.ask({ account, credential: credential!, method: 'GET', path }, token!);
  }

  return async (customer) => {
    const { account, token } = customer;
    // A session that is being made would be of an account that is made again, with the same address.
    if (token === null || customer.signingIn > 0 || customer.isLeaving) return;
    customer.isLeaving = true;
    const [name, id] = (random.chance(SUSPENDED) ? pickFrom(random, customer.namespaces) : null) ?? [];
    if (id !== undefined) await clients.operate(id, name!, 'suspend', true);
    const request = { method: 'DELETE', path: '/me', body: { email: customer.mail } };
    const [, { answer }] = await Promise.all([
      random.chance(WRITING) ? write(customer) : null,
      clients.ask({ account, credential: 'session', ...request }, token),
    ]);
    const isRefused = answer !== null && answer.status >= 400 && answer.status < 500;
    if (isRefused) {
      customer.isLeaving = false;
      if (answer.status === 401) customer.token = null;
      return;
    }
    onLeft(customer, answer?.status === 204);
    await knock(customer, token);
  };
}
