import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import { type Customer, pickFrom } from './customer.ts';

interface Operating {
  /** The operator opens, closes or suspends one of the customer's namespaces. */
  one(customer: Customer): Promise<void>;
  /** Suspends all that the customer has, as for an account whose owner abuses it; or, when that was done, lifts it again. */
  all(customer: Customer): Promise<void>;
}

/** What an operator does to the namespaces of customers. @param write something that the customer writes */
export function createOperating(
  clients: Clients,
  random: Random,
  write: (customer: Customer) => Promise<void>,
): Operating {
  const suspended = new Set<Customer>();

  async function suspend(customer: Customer, on: boolean): Promise<void> {
    if (on) suspended.add(customer);
    else suspended.delete(customer);
    for (const [name, id] of [...customer.namespaces]) await clients.operate(id, name, 'suspend', on);
  }

  return {
    async one(customer) {
      const found = pickFrom(random, customer.namespaces);
      if (found === null) return;
      const [name, id] = found;
      // Suspended seldom, and not for long: writes are refused meanwhile.
      const isOpening = random.chance(0.6);
      const on = random.chance(isOpening ? 0.6 : 0.4);
      await clients.operate(id, name, isOpening ? 'public-read' : 'suspend', on);
    },
    async all(customer) {
      if (suspended.has(customer)) return suspend(customer, false);
      await suspend(customer, true);
      await write(customer);
      // Most seeds are too short for somebody to come back.
      if (random.chance(0.5)) await suspend(customer, false);
    },
  };
}
