import type { Payloads } from '../model/payloads.ts';
import { namespaceOf } from '../model/state.ts';
import type { RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import { type Customer, learnRecord, pickFrom } from './customer.ts';

/** @returns the answer to a success, else null */
type Send = (customer: Customer, method: string, path: string, body?: object) => Promise<RestAnswer | null>;

const ROUNDS = 2;

/**
 * One record has a value for its owner and one for everybody by turns: its namespace is open only while it has the second one. Whoever reads that in a
 * log which has the last value alone, or in pages that are of different moments, must show nobody one that this reader could never read.
 */
export function createReplacing(
  send: Send,
  clients: Clients,
  random: Random,
  payloads: Payloads,
): (customer: Customer) => Promise<void> {
  async function replace(customer: Customer, id: string): Promise<void> {
    const record = { data: payloads.next(random) };
    const answer = await send(customer, 'PATCH', `/records/${id}`, { record });
    if (answer !== null) learnRecord(customer, answer);
  }

  return async (customer) => {
    const found = pickFrom(random, customer.records);
    if (found === null) return;
    const [key, { id }] = found;
    const name = namespaceOf(key);
    const namespace = customer.namespaces.get(name);
    if (namespace === undefined) return;
    for (let round = 0; round < ROUNDS; round++) {
      await replace(customer, id);
      await clients.operate(namespace, name, 'public-read', true);
      await clients.operate(namespace, name, 'public-read', false);
      await replace(customer, id);
    }
  };
}
