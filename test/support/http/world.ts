import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { HttpObservation } from '../../../src/base/lifecycle/http.ts';
import { backgroundTimers, type Timers } from '../../../src/base/lifecycle/timers.ts';
import type { Tier } from '../../../src/base/limits.ts';
import { aesGcmEncryption } from '../../../src/base/seal.ts';
import type { Clock } from '../../../src/base/time.ts';
import { writeAs } from '../../../src/control/accounts/membership.ts';
import { createUser, issueToken } from '../../../src/control/accounts/rules.ts';
import { openSessions } from '../../../src/control/accounts/sessions.ts';
import { openSignInCodes } from '../../../src/control/accounts/sign-in.ts';
import { createApi } from '../../../src/control/api.ts';
import type { ApiDeps } from '../../../src/control/api-deps.ts';
import type { HasUnit } from '../../../src/control/deps.ts';
import type { InvitationMail } from '../../../src/control/organizations/invitations.ts';
import { openChallenges } from '../../../src/control/passkeys/challenges.ts';
import { openPositions } from '../../../src/control/unit.ts';
import type { WebhookDeps } from '../../../src/control/webhooks/rules.ts';
import type { AttemptRequest } from '../../../src/control/webhooks/send-attempt.ts';
import { type Limiter, memoryLimiter, unlimited } from '../../../src/http/limiter.ts';
import type { Change } from '../../../src/protocol/change.ts';
import { forgetPeriods } from '../../../src/store/rate-limits.ts';
import type { Store } from '../../../src/store/store.ts';
import { usageSink } from '../../../src/store/usage.ts';
import { changesAfter } from '../feed/changes-after.ts';
import { checkAnswers, contract } from './openapi/response-check.ts';
import { TEST_SERVICE } from './server-parts.ts';

/** The JSON of an answer; the tests say what is in it. */
// biome-ignore lint/suspicious/noExplicitAny: tests check answers field by field
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly json: Json;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A caller with one credential. */
export interface Caller {
  readonly token: string;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
  del(path: string): Promise<Answer>;
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

export interface Customer extends Caller {
  readonly id: string;
  readonly email: string;
  /** Creates a namespace of a new name, or of the given one. */
  namespace(name?: string): Promise<{ readonly id: string; readonly name: string }>;
  /** Creates a record, which must succeed. */
  record(key: string, fields?: object): Promise<Json>;
  /** Creates an API key, and a caller that uses it. */
  key(scopes?: object, fields?: object): Promise<Caller & { readonly id: string }>;
  /** Creates a webhook, which must succeed: its resource and both secrets. */
  webhook(fields?: object): Promise<Json>;
}

/** Replaces the network. A test may use its own functions instead. */
export interface Network {
  attempt: WebhookDeps['sendAttempt'];
  checkUrl: WebhookDeps['checkUrl'];
  /** Every attempt that was made. */
  readonly sent: AttemptRequest[];
}

/** One API over a real store, with a clock that only the test moves. */
export interface World {
  readonly app: FastifyInstance;
  readonly deps: ApiDeps & HasUnit;
  readonly store: Store;
  readonly observations: HttpObservation[];
  readonly errors: unknown[];
  readonly network: Network;
  /** Every invitation that was mailed. */
  readonly invitations: readonly InvitationMail[];
  /** Sign-in codes, in the order in which they were sent. */
  readonly mails: readonly { readonly email: string; readonly code: string }[];
  readonly now: () => number;
  advance(ms: number): void;
  customer(tier?: Tier): Promise<Customer>;
  /** A new session of a customer: the one that they began with ends after twelve hours. */
  signIn(customer: Customer): Promise<Caller>;
  /** A caller with any credential, or none. */
  caller(token: string | null): Caller;
  /** Sends a request as it is. */
  inject(options: InjectOptions): Promise<Answer>;
  /** Changes since the world was opened. */
  changes(): Promise<Change[]>;
  /** Waits for every unit of work that has begun. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

interface WorldOptions {
  readonly organizations?: boolean;
  readonly limiter?: (clock: Clock, store: Store) => Limiter;
  readonly trustedProxies?: readonly string[];
  readonly billing?: boolean;
  readonly nodes?: ApiDeps['nodes'];
  readonly service?: ApiDeps['service'];
  readonly serveOther?: ApiDeps['serveOther'];
  /** Called before each store access; its error reaches the use case. */
  readonly wrap?: (store: Store) => Store;
  readonly unsent?: ApiDeps['unsent'];
  /** Of what waits for a time that no clock tells. */
  readonly timers?: Timers;
  /** Sends each request of a caller, such as with another credential. */
  readonly around?: (
    request: InjectOptions,
    send: (request: InjectOptions) => Promise<Answer>,
  ) => Promise<Answer>;
}

/** Letters of the longest zone in the tests: `uqrp.net`. */
export const ZONE_LENGTH = 8;

/** Origin of absolute URLs in answers. */
export const PUBLIC_URL = 'https://api.example.test';

const SECRET = createHash('sha256').update('test').digest();

/** What a new webhook asks for when nothing else matters. */
export const WEBHOOK = {
  name: 'orders',
  url: 'https://hooks.example.com/in',
  events: ['record.upserted', 'record.deleted'],
};

let names = 0;

/** A namespace name that no other test uses. */
export function newName(): string {
  names += 1;
  return `ns-n${names.toString(36)}-${randomBytes(3).toString('hex')}`;
}

/** Opens an API over a store that several worlds share: they keep apart by having their own customers and names. */
export async function openWorld(shared: Store, options: WorldOptions = {}): Promise<World> {
  const writes = watchWrites(options.wrap?.(shared) ?? shared);
  const { store } = writes;
  let time = Date.UTC(2026, 0, 1);
  const clock = (): number => time;
  const observations: HttpObservation[] = [];
  const errors: unknown[] = [];
  const invitations: InvitationMail[] = [];
  const mails: { email: string; code: string }[] = [];
  const newId = (): string => randomUUID();
  const random = (bytes: number): Uint8Array => randomBytes(bytes);
  const network: Network = {
    attempt: async () => ({ error: null, responseCode: 204, durationMs: 7, retryAfter: null }),
    checkUrl: async () => null,
    sent: [],
  };
  const deps: ApiDeps & HasUnit = {
    store,
    unit: (actor, work, others) => writeAs({ store, clock }, actor, work, others),
    clock,
    newId,
    random,
    zoneLength: ZONE_LENGTH,
    sessions: openSessions({ store, clock, newId }, SECRET),
    codes: openSignInCodes({ store, clock, random }, SECRET),
    sendCode: (email, code) => mails.push({ email, code }),
    encryption: aesGcmEncryption(SECRET, random),
    historyKeys: aesGcmEncryption(createHash('sha256').update('history').digest(), random, 0),
    organizations: options.organizations ?? true,
    sendInvitation: (mail) => {
      invitations.push(mail);
    },
    challenges: openChallenges({ clock, random }, SECRET),
    answers: aesGcmEncryption(createHash('sha256').update('answers').digest(), random, 0),
    timers: options.timers ?? backgroundTimers,
    sendAttempt: (request) => {
      network.sent.push(request);
      return network.attempt(request);
    },
    checkUrl: (url) => network.checkUrl(url),
    limiter: options.limiter?.(clock, shared) ?? unlimited,
    publicUrl: () => PUBLIC_URL,
    service: options.service ?? TEST_SERVICE,
    trustedProxies: options.trustedProxies ?? [],
    ...(options.unsent && { unsent: options.unsent }),
    ...(options.serveOther && { serveOther: options.serveOther }),
    billing: options.billing ?? false,
    nodes: options.nodes ?? { list: () => [], onMoved: () => () => {} },
    positions: openPositions(aesGcmEncryption(createHash('sha256').update('positions').digest(), random, 0)),
    flags: {
      limiter: options.limiter === undefined ? unlimited : memoryLimiter(clock),
      ticketKey: createHash('sha256').update('tickets').digest(),
      usage: usageSink(store, clock),
    },
    observe: (observation) => observations.push(observation),
    onError: (error) => errors.push(error),
  };
  // The clock of each world begins at the same time, and addresses are the same in all.
  await shared.write((tx) => forgetPeriods(tx, Number.MAX_SAFE_INTEGER));
  const app = createApi(deps);
  const checks = checkAnswers(app, await contract());
  const { head } = await shared.changes.bounds();

  const send = async (request: InjectOptions): Promise<Answer> => {
    const { statusCode, body, headers } = await bodyOf(app, request);
    checks.streamed(String(headers['x-request-id']), body);
    // What the OpenAPI document does not describe.
    assert.deepEqual(checks.take(), []);
    const isJson = String(headers['content-type'] ?? '').startsWith('application/json');
    return { status: statusCode, json: isJson && body !== '' ? JSON.parse(body) : null, text: body, headers };
  };
  const inject = (request: InjectOptions): Promise<Answer> =>
    options.around?.(request, send) ?? send(request);
  const caller = (token: string | null): Caller => {
    const sends: Caller['send'] = (method, path, body, headers = {}) =>
      inject({
        method: method as 'GET',
        url: `/api/v1${path}`,
        headers: token === null ? headers : { authorization: `Bearer ${token}`, ...headers },
        ...(body !== undefined && { payload: body as object }),
      });
    return {
      token: token ?? '',
      send: sends,
      get: (path) => sends('GET', path),
      post: (path, body) => sends('POST', path, body),
      patch: (path, body) => sends('PATCH', path, body),
      del: (path) => sends('DELETE', path),
    };
  };
  return {
    app,
    deps,
    store: shared,
    observations,
    errors,
    network,
    invitations,
    mails,
    now: clock,
    advance: (ms) => {
      time += ms;
    },
    caller,
    inject,
    signIn: async ({ email }) => caller((await issueToken(deps, email)).token),
    customer: (tier = 'pro') => newCustomer(deps, caller, tier),
    changes: async () => [...(await changesAfter(shared.changes, head, 1_000_000))],
    settle: () => writes.settle(),
    close: async () => {
      await app.close();
      assert.deepEqual(checks.take(), []);
    },
  };
}

/** An answer of events does not end by itself: of it the head is taken, and its client leaves. */
async function bodyOf(app: FastifyInstance, request: InjectOptions) {
  const url = typeof request.url === 'string' ? request.url : '';
  if (!/^\/api\/v1\/(query_logs|changes)\/stream/.test(url)) return app.inject(request);
  const { statusCode, headers, raw, stream } = await app.inject({ ...request, payloadAsStream: true });
  if (String(headers['content-type']).startsWith('text/event-stream')) {
    raw.res.destroy();
    return { statusCode, headers, body: '' };
  }
  const chunks: Buffer[] = await stream().toArray();
  return { statusCode, headers, body: Buffer.concat(chunks).toString() };
}

function watchWrites(store: Store): { readonly store: Store; settle(): Promise<void> } {
  const begun = new Set<Promise<unknown>>();
  return {
    store: {
      ...store,
      write: (work) => {
        const unit = store.write(work);
        const settled = unit.catch(() => {}).finally(() => begun.delete(settled));
        begun.add(settled);
        return unit;
      },
    },
    async settle() {
      await Promise.all(begun);
    },
  };
}

async function newCustomer(
  deps: ApiDeps & HasUnit,
  caller: (token: string) => Caller,
  tier: Tier,
): Promise<Customer> {
  const { id, email } = await createUser(deps, `${newName()}@example.com`, tier);
  const self = caller((await issueToken(deps, email)).token);
  return {
    ...self,
    id,
    email,
    async namespace(name = newName()) {
      return created(await self.post('/namespaces', { namespace: { name } }));
    },
    async record(key, fields = {}) {
      return created(await self.post('/records', { record: { key, data: 'aGk=', ...fields } }));
    },
    async key(scopes, fields = {}) {
      const body = { api_key: { name: 'key', ...(scopes && { scopes }), ...fields } };
      const key = created(await self.post('/api_keys', body));
      return { ...caller(key.token), id: key.id };
    },
    async webhook(fields = {}) {
      return created(await self.post('/webhooks', { webhook: { ...WEBHOOK, ...fields } }));
    },
  };
}

/** The JSON of an answer that must be a 201. */
export function created(answer: Answer): Json {
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
}

/** Asserts a failure: status, code, and the single message or the list of them. */
export function assertFailure(
  answer: Answer,
  status: number,
  code: string,
  message?: string | readonly string[],
): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  const field = Array.isArray(answer.json.errors) ? 'errors' : 'error';
  assert.deepEqual(Object.keys(answer.json).sort(), ['code', field]);
  assert.equal(answer.json.code, code);
  if (message !== undefined) assert.deepEqual(answer.json[field], message);
  assert.equal(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined);
  assert.equal('retry-after' in answer.headers, status === 429);
}

/** What a scenario file offers: named tests over a store that they share. */
export type Scenarios = Readonly<Record<string, (store: Store) => Promise<void>>>;
