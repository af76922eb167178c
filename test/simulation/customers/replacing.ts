import type { Payloads } from '../model/payloads.ts';
import { namespaceOf } from '../model/state.ts';
import type { RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import { type Customer, learnRecord, pickFrom } from './customer.ts';

/** @returns the answer to a success, else null */
type Send = (customer: Customer, method: string, path: string, body?: object) => Promise<RestAnswer | null>;

const ROUNDS = 4;

/**
 * One record has a value after the other, while its namespace is opened and closed. Whoever reads that in a log which has the last value alone must
 * show nobody one that this reader could never read.
 */
export function createReplacing(
  send: Send,
  clients: Clients,
  random: Random,
  payloads: Payloads,
): (customer: Customer) => Promise<void> {
  return async (customer) => {
    const found = pickFrom(random, customer.records);
    if (found === null) return;
    const [key, { id }] = found;
    const name = namespaceOf(key);
    for (let round = 0; round < ROUNDS; round++) {
      const record = { data: payloads.next(random) };
      const answer = await send(customer, 'PATCH', `/records/${id}`, { record });
      if (answer !== null) learnRecord(customer, answer);
      const namespace = customer.namespaces.get(name);
      if (namespace !== undefined && random.chance(0.7))
        await clients.operate(namespace, name, 'public-read', round % 2 === 0);
    }
  };
}
