import { verifyWebhook } from '../../../sdk/src/webhooks.ts';
import type { Model } from './model.ts';
import type { Register } from './register.ts';
import { namespaceOf } from './state.ts';
import { ModelError, type WebhookRequest } from './told.ts';
import type { WebhookState } from './webhook-state.ts';

/**
 * Endpoints get what is theirs and nothing else: signed with the secret of the moment, in ascending order, each event at least once and in
 * at most five attempts, none after the webhook was disabled, narrowed or deleted.
 */
export interface WebhooksCheck {
  /** An attempt has arrived at an endpoint. @throws ModelError */
  received(request: WebhookRequest): void;
  /** An event that an endpoint which always answered 2xx has not got yet; null: there is none. */
  readonly missing: () => string | null;
  /** A backup was put back: what was sent since may be sent again, under the same numbers. */
  restored(): void;
  /** An event with this payload may wait for an endpoint. @param data Base64 */
  readonly isOwed: (account: string, data: string) => boolean;
  /** No delivery waits any more: from now on nothing is owed. */
  ended(): void;
}

export interface WebhooksCheckOptions {
  /** From the unit that begins an attempt until the request arrives: milliseconds. */
  readonly graceMs: () => number;
  /** Whether a process that sends was killed, paused or cut off from the database at or after this time. */
  readonly wasDisturbedSince: (ms: number) => boolean;
  /** By how much the clock of a process that dates events and signs is, or was, wrong at most. */
  readonly skewMs: () => number;
  /** Seconds before each attempt. */
  readonly schedule: readonly number[];
}

interface Delivery {
  readonly url: string;
  readonly body: string;
  attempts: number;
  /** When the last attempt arrived. */
  at: number;
}

/** Of one URL: no two webhooks have the same. */
interface Endpoint {
  lastSeq: number;
  /** The last number that any database before this one gave. */
  floor: number;
  hasFailed: boolean;
  /** Payloads that arrived, in Base64. */
  readonly data: Set<string>;
}

const JITTER = 0.8;
/** Recommended in docs/WEBHOOKS.md. */
const TOLERANCE_SECONDS = 300;

export function createWebhooksCheck(model: Model, options: WebhooksCheckOptions): WebhooksCheck {
  const { graceMs, skewMs, wasDisturbedSince, schedule } = options;
  const { state } = model;
  const deliveries = new Map<string, Delivery>();
  const endpoints = new Map<string, Endpoint>();
  let haveEnded = false;
  /** When the database became this one, milliseconds. */
  let restoredAt = Number.NEGATIVE_INFINITY;

  function endpointOf(url: string): Endpoint {
    const endpoint = endpoints.get(url) ?? {
      lastSeq: 0,
      floor: 0,
      hasFailed: false,
      data: new Set<string>(),
    };
    endpoints.set(url, endpoint);
    return endpoint;
  }

  return {
    received({ at, url, headers, body, status }) {
      const now = model.event(at);
      const fail = (reason: string): never => {
        throw new ModelError(`webhook ${url} at ${at}: ${reason}: ${Buffer.from(body).toString()}`);
      };
      const endpoint = endpointOf(url);
      if (status === null || status >= 300) endpoint.hasFailed = true;
      const from = model.numberAt(at - graceMs()) - 1;
      const may = <V>(register: Register<V>): readonly V[] =>
        register.possible(Math.max(0, from), now).map(({ value }) => value);
      const webhook = [...state.webhooks.byId.values()].find((each) => may(each.url).includes(url));
      if (webhook === undefined) {
        // Made or moved by a request of which nobody knows the answer, or not yet.
        const isKnown = [...state.webhooks.byId.values()].some((each) =>
          each.url.writes.some(({ value }) => value === url),
        );
        if (isKnown || !state.webhooks.urls.has(url)) fail('nobody asked for it');
        // It may come again once the answer is known, after others: that is a repeat.
        const text = Buffer.from(body).toString();
        const told = JSON.parse(text) as Told;
        checkOrder(endpoint, headers['x-service-delivery'] ?? '', url, text, told, at, fail);
        return;
      }
      if (!may(webhook.isDeleted).includes(false)) fail('the webhook was deleted');
      if (!may(webhook.isEnabled).includes(true)) fail('the webhook is disabled');
      const secrets = may(webhook.secret).filter((secret) => secret !== null);
      if (secrets.length === may(webhook.secret).length) {
        verifyWebhook(body, headers['x-service-signature'], secrets, {
          now: at,
          toleranceSeconds: TOLERANCE_SECONDS + Math.ceil(skewMs() / 1000),
        });
      }
      const text = Buffer.from(body).toString();
      const told = JSON.parse(text) as Told;
      if (told.event !== headers['x-service-event']) fail('another event in the head');
      if (Object.keys(told).join() !== 'event,seq,created_at,data') fail('other fields');
      if (!may(webhook.events).some((events) => events.includes(told.event)))
        fail('the event was not asked for');
      const name = told.data.namespace ?? told.data.name ?? '';
      if (!may(webhook.namespaces).some((names) => names.length === 0 || names.includes(name))) {
        fail('a namespace outside of its scope');
      }
      checkContent(webhook, told, fail);
      checkOrder(endpoint, headers['x-service-delivery'] ?? '', url, text, told, at, fail);
      if (told.data.data !== undefined) endpoint.data.add(told.data.data);
    },
    missing() {
      for (const webhook of state.webhooks.byId.values()) {
        const text = missingAt(webhook);
        if (text !== null) return text;
      }
      return null;
    },
    restored() {
      deliveries.clear();
      restoredAt = model.time();
      for (const endpoint of endpoints.values()) {
        endpoint.floor = Math.max(endpoint.floor, endpoint.lastSeq);
        endpoint.lastSeq = 0;
      }
    },
    ended() {
      haveEnded = true;
    },
    isOwed(account, data) {
      if (haveEnded || state.deletions.isGone(account, model.now())) return false;
      const known = [...state.webhooks.byId.values()]
        .filter((webhook) => webhook.account === account)
        .flatMap(({ url }) => url.writes.map(({ value }) => value));
      // Nobody can tell of one that was made by a request without an answer, also not that it was deleted.
      const perhaps = [...state.webhooks.urls].flatMap(([url, made]) =>
        made?.by === account && !made.isCertain && !made.isVoid ? [url] : [],
      );
      return [...known, ...perhaps].some(
        (url) => endpointOf(url).hasFailed || !endpointOf(url).data.has(data),
      );
    },
  };

  /** What is told was written by the account, as it is told. */
  function checkContent(
    { account }: WebhookState,
    { event, data }: Told,
    fail: (reason: string) => never,
  ): void {
    const { key, namespace, name } = data;
    const isOwn = [...state.namespaces.values()].some(
      (space) => space.name === (namespace ?? name) && space.account === account,
    );
    // A namespace of which the answer was lost is known by its name alone.
    const isAsked = state.name(namespace ?? name ?? '').writes.some(({ by }) => by === account);
    if (!isOwn && !isAsked) fail('a namespace of somebody else');
    if (event === 'record.deleted' && !state.records.has(key!)) fail('a record that was never written');
    if (event !== 'record.upserted') return;
    const written = state.byData.get(data.data!);
    if (written === undefined || written.key !== key || written.write.isVoid)
      fail('a payload that nobody wrote');
    if (written!.write.by !== account) fail('a payload of somebody else');
    if (namespaceOf(key!) !== namespace) fail('another namespace than that of its key');
    model.seen(key!, data.data!);
  }

  function checkOrder(
    endpoint: Endpoint,
    id: string,
    url: string,
    body: string,
    { seq, created_at }: Told,
    at: number,
    fail: (reason: string) => never,
  ): void {
    const known = deliveries.get(id);
    // A clock that was ahead dates it later than it was.
    const isDisturbed = wasDisturbedSince(Date.parse(created_at) - skewMs());
    if (known === undefined) {
      const isNew = Date.parse(created_at) - skewMs() > restoredAt;
      if (isNew && seq <= endpoint.floor) fail(`a number of before ${endpoint.floor}`);
      if (seq <= endpoint.lastSeq && !isDisturbed) fail(`comes after ${endpoint.lastSeq}`);
      endpoint.lastSeq = Math.max(endpoint.lastSeq, seq);
      deliveries.set(id, { url, body, attempts: 1, at });
      return;
    }
    if (known.body !== body) fail('another body under the same id');
    const leastMs = state.webhooks.hurried.has(id) ? 0 : (schedule[known.attempts] ?? 0) * 1000 * JITTER;
    if (at - known.at < leastMs && !wasDisturbedSince(known.at)) fail(`again after ${at - known.at} ms`);
    known.attempts++;
    known.at = at;
    if (known.attempts > schedule.length) fail(`attempt ${known.attempts}`);
  }

  function missingAt(webhook: WebhookState): string | null {
    const now = model.now();
    const { url, events, namespaces, isEnabled, isDeleted, account, to } = webhook;
    const settings: readonly Register<unknown>[] = [url, events, namespaces, isEnabled, isDeleted];
    // Since its last change, as far as there was one.
    const changes = settings.flatMap(({ writes }) => writes.map((write) => (write.isVoid ? 0 : write.to)));
    const since = Math.max(to, ...changes);
    // Of a change without an answer nobody knows whether it was made: what holds with it and without it is sure.
    const may = <V>(register: Register<V>): readonly V[] => register.possible(now).map(({ value }) => value);
    const targets = may(url).map(endpointOf);
    const isSure =
      since < now &&
      may(isEnabled).every(Boolean) &&
      !may(isDeleted).some(Boolean) &&
      // Also one of before the webhook was moved: too many failures in a row disable it.
      !url.writes.some(({ value }) => endpointOf(value).hasFailed) &&
      may(events).every((names) => names.includes('record.upserted'));
    if (!isSure) return null;
    const scopes = may(namespaces);
    for (const [data, { key, write }] of state.byData) {
      const isWanted =
        write.isCertain &&
        !write.isVoid &&
        write.by === account &&
        write.from > since &&
        scopes.every((names) => names.length === 0 || names.includes(namespaceOf(key)));
      if (isWanted && !targets.some((target) => target.data.has(data))) {
        return `webhook ${may(url).at(-1)} never got ${key} from ${write.from} to ${write.to}`;
      }
    }
    return null;
  }
}

interface Told {
  readonly event: string;
  readonly seq: number;
  readonly created_at: string;
  readonly data: {
    readonly key?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly data?: string;
  };
}
