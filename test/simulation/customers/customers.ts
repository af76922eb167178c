import type { ChangesCheck } from '../model/changes.ts';
import type { Payloads } from '../model/payloads.ts';
import type { Write } from '../model/register.ts';
import { namespaceOf } from '../model/state.ts';
import type { Request, RestAnswer } from '../model/told.ts';
import { type Answers, answersShown } from '../model/usage.ts';
import { pickWeighted, type Random } from '../random.ts';
import type { Clients, Operator } from './clients.ts';
import {
  ALWAYS,
  anyKey,
  type Customer,
  fieldsOf,
  ifMatch,
  learnRecord,
  NAMES,
  newCustomer,
  patchOf,
  pickFrom,
  type Sending,
  successorOf,
} from './customer.ts';
import { createFollowing } from './following.ts';
import { createLeaving } from './leaving.ts';
import { createOperating } from './operating.ts';
import { createOwning } from './owning.ts';
import { createPropagating } from './propagating.ts';
import { createReplacing } from './replacing.ts';

/** What customers and the operator do, by the seed: each seed and each customer has some of it. */
export interface Customers {
  readonly all: readonly Customer[];
  /** Those who have deleted their accounts, as far as anybody knows. */
  readonly left: readonly Customer[];
  /** Accounts are made. */
  readonly begin: () => Promise<void>;
  /** One customer does one thing. It goes on by itself, beside others. */
  readonly act: () => void;
  /** Everybody reads everything, with nothing else under way. */
  readonly readAll: () => Promise<void>;
  /** Each has a record, and a token that opens it. */
  readonly writeForReads: () => Promise<void>;
  /** Each replaces a record of its own several times. */
  readonly replaceAll: () => Promise<void>;
  /** What `GET /usage` tells each, by mail address; without those who got no answer. */
  readonly readUsage: () => Promise<ReadonlyMap<string, Answers>>;
  /** Everything that was begun has ended. */
  readonly underWay: number;
  /** When the first of the tokens that are left ends; null: there is none. */
  tokenEnd(now: number): number | null;
  /** A day passes: answers to what had an idempotency key are not kept for longer. */
  dayPasses(): void;
}

export interface CustomersOptions {
  readonly random: Random;
  readonly count: number;
  readonly clients: Clients;
  readonly operator: Operator;
  readonly payloads: Payloads;
  readonly changes: ChangesCheck;
  /** Some delete their accounts, and come back with another. */
  readonly mayLeave: boolean;
  /** Whoever comes next may take the address of an account that is deleted: no backup brings that one back. */
  readonly mayReturn: boolean;
  readonly onReturn: () => void;
  /** Whatever endpoints answer: there are more webhooks then. */
  readonly deliveriesEnd: boolean;
  /** Control has told that a node answers by this write. */
  readonly onApplied: (node: string, write: Write<unknown>) => void;
  /** An action threw: a check found something. */
  readonly onError: (error: unknown) => void;
  /** A URL of an endpoint that no other webhook has. */
  readonly newUrl: () => string;
}

/** In the seeds in which customers leave: about one does in a small seed. */
const LEAVES = 16;
/** As often as in other seeds, where all deliveries end. */
const WEBHOOKS = 3;
/** Part of those who come next that have the address of the one before. */
const RETURNS = 0.5;

type Action = (customer: Customer) => Promise<void>;

export function createCustomers(options: CustomersOptions): Customers {
  const { random, clients, operator, payloads, changes } = options;
  const all = Array.from({ length: options.count }, (_, i) => newCustomer(`c${i + 1}`));
  const left: Customer[] = [];
  let underWay = 0;
  let names = 0;
  const write: Action = (customer) => actions.create![1](customer);
  const operating = createOperating(clients, random, write);
  const following = createFollowing(clients, random, changes, payloads);
  const propagating = createPropagating(clients, random, options.onApplied);
  const webhooks = options.deliveriesEnd ? WEBHOOKS : 1;
  const replacing = createReplacing(send, clients, random, payloads);
  const owning = createOwning(send, random, options.newUrl);
  const leaving = createLeaving(clients, random, write, (customer, isDone) => {
    left.push(customer);
    const returns = isDone && options.mayReturn && random.chance(RETURNS);
    if (returns) options.onReturn();
    all[all.indexOf(customer)] = successorOf(customer, returns ? customer.mail : undefined);
  });

  /** @returns the answer to a success, else null */
  async function send(
    customer: Customer,
    method: string,
    path: string,
    body?: object,
    { headers, credential = 'session', as = customer.token }: Sending = {},
  ): Promise<RestAnswer | null> {
    const { account } = customer;
    const request: Request = { account, credential, method, path, body, ...(headers && { headers }) };
    const { answer } = await clients.ask(request, as);
    if (answer?.status === 401 && credential === 'session') customer.token = null;
    return answer !== null && answer.status < 300 ? answer : null;
  }

  function newRecord(customer: Customer): object {
    const name = pickFrom(random, customer.namespaces.keys()) ?? random.pick(NAMES);
    return { key: anyKey(random, name), data: payloads.next(random), ...fieldsOf(random) };
  }

  /** By session, or by one of the API keys. */
  function credentialOf(customer: Customer): Pick<Sending, 'credential' | 'as'> {
    const [id, key] = (random.chance(0.3) ? pickFrom(random, customer.keys) : null) ?? [];
    return id === undefined ? {} : { credential: `key ${id}`, as: key!.token };
  }

  const actions: Readonly<Record<string, readonly [weight: number, Action]>> = {
    createNamespace: [
      4,
      async (customer) => {
        const answer = await send(customer, 'POST', '/namespaces', {
          namespace: { name: random.pick(NAMES) },
        });
        if (answer !== null) customer.namespaces.set(answer.body.name, answer.body.id);
      },
    ],
    deleteNamespace: [
      1,
      async (customer) => {
        const found = pickFrom(random, customer.namespaces);
        if (found === null) return;
        const answer = await send(customer, 'DELETE', `/namespaces/${found[1]}`);
        if (answer === null) return;
        // A new one of that name may be there already.
        if (customer.namespaces.get(found[0]) === found[1]) customer.namespaces.delete(found[0]);
        for (const key of customer.records.keys())
          if (namespaceOf(key) === found[0]) customer.records.delete(key);
      },
    ],
    maxTtl: [
      1,
      async (customer) => {
        const id = pickFrom(random, customer.namespaces.values());
        const namespace = { max_ttl: random.pick([1, 5, 60, 3600]) };
        if (id !== null) await send(customer, 'PATCH', `/namespaces/${id}`, { namespace });
      },
    ],
    create: [
      12,
      async (customer) => {
        const record = newRecord(customer);
        const by = credentialOf(customer);
        const headers = random.chance(0.2) ? { 'if-none-match': '*' } : undefined;
        const isRepeatable = random.chance(0.25);
        const key = `i${++names}`;
        const all = { ...headers, ...(isRepeatable && { 'idempotency-key': key }) };
        if (isRepeatable && headers === undefined) {
          const { credential = 'session', as = customer.token } = by;
          customer.repeatable.push({ path: '/records', body: { record }, key, credential, token: as! });
        }
        const answer = await send(customer, 'POST', '/records', { record }, { headers: all, ...by });
        if (answer !== null) learnRecord(customer, answer);
      },
    ],
    repeat: [
      4,
      async (customer) => {
        const found = pickFrom(random, customer.repeatable);
        if (found === null) return;
        const { path, key } = found;
        // Another credential has answers of its own. Payloads are not written twice, so that only mints are asked by another.
        const isMint = path !== '/records';
        const own = { credential: found.credential, as: found.token };
        const by = isMint && random.chance(0.5) ? { ...credentialOf(customer) } : own;
        const headers = { 'idempotency-key': key };
        const isOther = !isMint && random.chance(0.2);
        const other = { record: { key: anyKey(random, random.pick(NAMES)), data: payloads.next(random) } };
        const body = isOther ? other : found.body;
        const answer = await send(customer, 'POST', path, body, { headers, ...by });
        if (answer !== null && path === '/records') learnRecord(customer, answer);
      },
    ],
    patch: [
      10,
      async (customer) => {
        const found = pickFrom(random, customer.records.values());
        if (found === null) return;
        const record = { ...(random.chance(0.8) && { data: payloads.next(random) }), ...patchOf(random) };
        if (Object.keys(record).length === 0) return;
        const headers = random.chance(0.3) ? ifMatch(found, random) : undefined;
        const sending = { headers, ...credentialOf(customer) };
        const answer = await send(customer, 'PATCH', `/records/${found.id}`, { record }, sending);
        if (answer !== null) learnRecord(customer, answer);
      },
    ],
    remove: [
      5,
      async (customer) => {
        const found = pickFrom(random, customer.records);
        if (found === null) return;
        const [key, { id }] = found;
        const headers = random.chance(0.2) ? ifMatch(found[1], random) : undefined;
        const answer = await send(customer, 'DELETE', `/records/${id}`, undefined, {
          headers,
          ...credentialOf(customer),
        });
        if (answer !== null && customer.records.get(key)?.id === id) customer.records.delete(key);
      },
    ],
    bulk: [
      3,
      async (customer) => {
        const name = pickFrom(random, customer.namespaces.keys());
        if (name === null) return;
        const keys = new Set(Array.from({ length: random.between(1, 6) }, () => anyKey(random, name)));
        const [gone, ...kept] = [...keys];
        const records = (random.chance(0.5) ? kept : [...keys]).map((key) => ({
          key,
          data: payloads.next(random),
          ...fieldsOf(random),
        }));
        const body = { records, ...(records.length < keys.size && { delete: [gone] }) };
        const answer = await send(customer, 'POST', '/records/bulk', body, credentialOf(customer));
        for (const { key, id } of answer?.body.records ?? [])
          customer.records.set(key, { id, etag: null, oldEtag: null });
      },
    ],
    mint: [
      5,
      async (customer) => {
        const found = pickFrom(random, customer.namespaces);
        if (found === null) return;
        const [name, id] = found;
        const body = { name: 't', expires_in_days: random.pick([1, 30]) };
        const path = `/namespaces/${id}/query_tokens`;
        const by = credentialOf(customer);
        const headers = random.chance(0.2) ? { 'idempotency-key': `i${++names}` } : undefined;
        if (headers !== undefined) {
          const { credential = 'session', as = customer.token } = by;
          customer.repeatable.push({ path, body, key: headers['idempotency-key'], credential, token: as! });
        }
        const answer = await send(customer, 'POST', path, body, { headers, ...by });
        if (answer === null) return;
        const { id: tokenId, token, expires_at: expiresAt } = answer.body;
        customer.tokens.push({ id: tokenId, namespaceId: id, token, name, expiresAt: Date.parse(expiresAt) });
      },
    ],
    revoke: [
      2,
      async (customer) => {
        const found = pickFrom(random, customer.tokens);
        if (found === null) return;
        await send(customer, 'DELETE', `/namespaces/${found.namespaceId}/query_tokens/${found.id}`);
      },
    ],
    createKey: [
      1,
      async (customer) => {
        const namespaces = random.chance(0.5) ? [...customer.namespaces.keys()].slice(0, 1) : [];
        const operations = random.pick([[], ['read'], ['write'], ['read', 'write']]);
        const answer = await send(customer, 'POST', '/api_keys', {
          api_key: { name: 'k', scopes: { operations, namespaces } },
        });
        if (answer !== null) customer.keys.set(answer.body.id, { token: answer.body.token, namespaces });
      },
    ],
    revokeKey: [
      0.5,
      async (customer) => {
        const id = pickFrom(random, customer.keys.keys());
        // It is asked with later too: what it does is refused.
        if (id !== null) await send(customer, 'DELETE', `/api_keys/${id}`);
      },
    ],
    createWebhook: [1.5 * webhooks, (customer) => owning.create(customer)],
    changeWebhook: [1.5 * webhooks, (customer) => owning.change(customer)],
    hurryDelivery: [webhooks, (customer) => owning.hurry(customer)],
    readRecord: [
      6,
      async (customer) => {
        const found = pickFrom(random, customer.records);
        if (found === null) return;
        const path = `/records/${found[1].id}`;
        const answer = await send(customer, 'GET', path, undefined, credentialOf(customer));
        if (answer !== null) learnRecord(customer, answer);
      },
    ],
    list: [3, (customer) => readListings(customer)],
    follow: [5, (customer) => following.one(customer)],
    propagate: [4, (customer) => propagating.one(customer, newRecord(customer))],
    usage: [
      1,
      async (customer) => {
        await send(customer, 'GET', random.pick(['/usage', '/query_logs', '/webhooks', '/me', '/api_keys']));
      },
    ],
    operate: [2, (customer) => operating.one(customer)],
    suspendAll: [1, (customer) => operating.all(customer)],
    leave: [LEAVES, leaving],
  };

  async function readListings(customer: Customer): Promise<void> {
    await send(customer, 'GET', '/records', undefined);
    await send(customer, 'GET', random.pick(['/me', '/usage']));
    const answer = await send(customer, 'GET', '/namespaces');
    if (answer === null) return;
    customer.namespaces.clear();
    for (const { id, name } of answer.body) customer.namespaces.set(name, id);
  }

  /** Each seed leaves some actions out, so that others come more often. */
  const drawn = Object.entries(actions)
    .filter(([name]) => (name === 'leave' ? options.mayLeave : ALWAYS.includes(name) || random.chance(0.75)))
    .map(([, [weight, run]]) => ({ weight, run }));

  async function signedIn(customer: Customer): Promise<string | null> {
    if (customer.token !== null || customer.isLeaving) return customer.token;
    customer.signingIn++;
    customer.token = await operator.user(customer.mail, 'team');
    customer.signingIn--;
    return customer.token;
  }

  async function run(action: Action, customer: Customer): Promise<void> {
    underWay++;
    try {
      await signedIn(customer);
      if (customer.token !== null) await action(customer);
    } catch (error) {
      options.onError(error);
    } finally {
      underWay--;
    }
  }

  return {
    all,
    left,
    get underWay() {
      return underWay;
    },
    async begin() {
      for (const customer of all) await run(actions.createNamespace![1], customer);
    },
    tokenEnd(now) {
      const ends = all.flatMap(({ tokens }) => tokens.map(({ expiresAt }) => expiresAt));
      return ends.filter((end) => end > now).toSorted((a, b) => a - b)[0] ?? null;
    },
    dayPasses() {
      for (const { repeatable } of all) repeatable.length = 0;
    },
    act() {
      void run(pickWeighted(drawn, random).run, random.pick(all));
    },
    async writeForReads() {
      for (const customer of all) for (const name of ALWAYS) await run(actions[name]![1], customer);
    },
    async replaceAll() {
      await Promise.all(all.map((customer) => run(replacing, customer)));
    },
    async readUsage() {
      const shown = new Map<string, Answers>();
      for (const customer of all) {
        await run(async () => {
          const answer = await send(customer, 'GET', '/usage');
          if (answer !== null) shown.set(customer.mail, answersShown(answer.body));
        }, customer);
      }
      return shown;
    },
    async readAll() {
      for (const customer of all) {
        await run(readListings, customer);
        for (const follower of customer.readers) {
          await run(async () => {
            while (await following.nextPage(customer, follower));
          }, customer);
        }
        await run((each) => following.hearsOfWrite(each), customer);
        await run((each) => propagating.everywhere(each, newRecord(each)), customer);
      }
    },
  };
}
