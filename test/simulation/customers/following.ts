import type { ChangesCheck } from '../model/changes.ts';
import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import { type Customer, type Follower, pickFrom } from './customer.ts';

interface Following {
  /** One page of one reader; a customer has two at most. */
  one(customer: Customer): Promise<void>;
  /** @returns whether there is more */
  nextPage(customer: Customer, follower: Follower): Promise<boolean>;
}

/** What customers read of `GET /changes`. */
export function createFollowing(clients: Clients, random: Random, changes: ChangesCheck): Following {
  async function nextPage(customer: Customer, follower: Follower): Promise<boolean> {
    const { account, token, readers } = customer;
    const { cursor } = follower;
    const limit = random.pick([1, 3, 100]);
    const path = `/changes?since=${cursor}&limit=${limit}`;
    const { pending, answer } = await clients.ask(
      { account, credential: 'session', method: 'GET', path },
      token,
    );
    // Another request of this reader was faster, and its page is this one.
    if (answer === null || cursor !== follower.cursor) return false;
    if (answer.status === 410) readers.splice(readers.indexOf(follower), 1);
    if (answer.status !== 200) return false;
    const page = answer.body as { changes: []; next: string; has_more: boolean };
    follower.cursor = page.next;
    changes.page(follower.reader, page.changes, pending.from, !page.has_more);
    return page.has_more;
  }

  return {
    nextPage,
    async one(customer) {
      const { account, readers } = customer;
      const follower = random.chance(0.7) || readers.length === 2 ? pickFrom(random, readers) : null;
      if (follower === null) {
        const request = { account, credential: 'session', method: 'GET', path: '/changes' };
        const { pending, answer } = await clients.ask(request, customer.token);
        if (answer?.status !== 200) return;
        readers.push({ reader: changes.begin(account, pending.from), cursor: answer.body.next });
        return;
      }
      await nextPage(customer, follower);
    },
  };
}
