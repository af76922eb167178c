import type { ChangesCheck } from '../model/changes.ts';
import type { Payloads } from '../model/payloads.ts';
import { ModelError } from '../model/told.ts';
import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import { anyKey, type Customer, type Follower, pickFrom } from './customer.ts';
import { createStreaming } from './streaming.ts';

interface Following {
  /** One page of one reader, or a stream for a while; a customer has two readers at most. Some pages wait for the first change. */
  one(customer: Customer): Promise<void>;
  /** @param waitS seconds to wait for the first change @returns whether there is more */
  nextPage(customer: Customer, follower: Follower, waitS?: number): Promise<boolean>;
  /**
   * With nothing that fails: who waits or has a stream hears of a write in time, also when another one has just stopped waiting.
   * @throws ModelError
   */
  hearsOfWrite(customer: Customer): Promise<void>;
}

const STREAMS = 0.2;
const STREAM_MS = 20_000;
/** Part of the streams of which nothing is read for a while. After ten seconds one is cut off. */
const IDLE = 0.3;
const IDLE_MS = 12_000;
const WAITS = 0.3;
/** Less than the patience of a customer. */
const WAITS_S = [2, 10, 25];
/** A notice of another process may be lost: the log is read each second. A message takes some milliseconds more. */
const HEARD_MS = 1_050;

/** What customers read of `GET /changes`. */
export function createFollowing(
  clients: Clients,
  random: Random,
  changes: ChangesCheck,
  payloads: Payloads,
): Following {
  const streaming = createStreaming(clients, changes);
  const ask = (customer: Customer, method: string, path: string, body?: object) =>
    clients.ask({ account: customer.account, credential: 'session', method, path, body }, customer.token);

  async function nextPage(customer: Customer, follower: Follower, waitS = 0): Promise<boolean> {
    const { readers } = customer;
    const { cursor } = follower;
    const limit = random.pick([1, 3, 100]);
    const wait = waitS === 0 ? '' : `&wait=${waitS}`;
    follower.underWay++;
    if (waitS > 0) follower.isWaiting = true;
    const { pending, answer } = await ask(customer, 'GET', `/changes?since=${cursor}&limit=${limit}${wait}`);
    follower.underWay--;
    if (waitS > 0) follower.isWaiting = false;
    // Another request of this reader was faster, and its page is this one.
    if (answer === null || cursor !== follower.cursor) return false;
    if (answer.status === 410) readers.splice(readers.indexOf(follower), 1);
    if (answer.status !== 200) return false;
    const page = answer.body as { changes: []; next: string; has_more: boolean };
    follower.cursor = page.next;
    changes.page(follower.reader, page.changes, pending.from, !page.has_more, waitS * 1_000);
    return page.has_more;
  }

  /** @returns one that begins at the present end; null: there was no answer */
  async function begun(customer: Customer): Promise<Follower | null> {
    const { pending, answer } = await ask(customer, 'GET', '/changes');
    if (answer?.status !== 200) return null;
    const reader = changes.begin(customer.account, pending.from);
    return { reader, cursor: answer.body.next, underWay: 0, isWaiting: false };
  }

  return {
    nextPage,
    async one(customer) {
      const { readers } = customer;
      const isFull = readers.length === 2;
      const free = readers.filter(({ isWaiting }) => !isWaiting);
      const follower = random.chance(0.7) || isFull ? pickFrom(random, free) : null;
      if (follower === null) {
        const added = isFull ? null : await begun(customer);
        if (added !== null) readers.push(added);
      } else if (follower.underWay > 0) {
        await nextPage(customer, follower);
      } else if (random.chance(STREAMS)) {
        const idleMs = random.chance(IDLE) ? random.between(1, IDLE_MS) : 0;
        await streaming.until(clients.pause(random.between(1, STREAM_MS)), customer, follower, idleMs);
      } else await nextPage(customer, follower, random.chance(WAITS) ? random.pick(WAITS_S) : 0);
    },
    async hearsOfWrite(customer) {
      const name = pickFrom(random, customer.namespaces.keys());
      const [soon, late, live] = [await begun(customer), await begun(customer), await begun(customer)];
      if (name === null || soon === null || late === null || live === null) return;
      const record = { key: anyKey(random, name), data: payloads.next(random) };
      const stop = Promise.withResolvers<void>();
      let streamedAt: number | null = null;
      const isStreamed = streaming.until(stop.promise, customer, live, 0, (key) => {
        if (key === record.key) streamedAt ??= clients.now();
      });
      const isHeard = nextPage(customer, late, Math.max(...WAITS_S)).then(() => clients.now());
      // What they throw is thrown below.
      for (const each of [isStreamed, isHeard]) each.catch(() => {});
      await nextPage(customer, soon, 1);
      const { answer } = await ask(customer, 'POST', '/records', { record });
      const writtenAt = clients.now();
      const heardAt = await isHeard;
      await clients.pause(HEARD_MS);
      stop.resolve();
      const wasOpen = await isStreamed;
      if (answer === null || answer.status >= 300) return;
      const isLate = (at: number | null): boolean => at === null || at - writtenAt > HEARD_MS;
      const what = isLate(heardAt) ? 'a request that waits' : 'a stream';
      if (isLate(heardAt) || (wasOpen && isLate(streamedAt)))
        throw new ModelError(`/changes of ${customer.account}: ${what} is not told of a write in time`);
    },
  };
}
