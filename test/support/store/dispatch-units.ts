import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type ClaimRules,
  claimAttempts,
  type DeliveryAttempt,
  type Settled,
  settleAttempt,
} from '../../../src/control/webhooks/attempts.ts';

import type { AttemptResult } from '../../../src/control/webhooks/send-attempt.ts';
import type { Store } from '../../../src/store/store.ts';
import { waitingWebhooks } from '../../../src/store/webhooks/dispatch.ts';
import type { WebhookRow } from '../../../src/store/webhooks/webhooks.ts';
import { addCustomer, addWebhook, enqueue } from '../control/webhooks/dispatch-world.ts';
import { type TestDatabase, withStore } from './fixtures.ts';

export const NOW = 10_000_000;
export const LEASE = 15_000;
export const SCHEDULE = [0, 5, 300];
export const RULES = { now: NOW, leaseMs: LEASE, schedule: SCHEDULE };

export const RIGHT: AttemptResult = { error: null, responseCode: 200, durationMs: 7, retryAfter: null };
export const WRONG: AttemptResult = {
  error: 'http_status',
  responseCode: 500,
  durationMs: 7,
  retryAfter: null,
};

/** Claims all webhooks that may have their turn, unless told otherwise. */
export async function claim(
  store: Store,
  more: Partial<ClaimRules> = {},
): Promise<readonly DeliveryAttempt[]> {
  const { now = NOW } = more;
  const waiting = await Promise.all(
    [false, true].map((isSlow) => waitingWebhooks(store.read, { now, isSlow, passed: [], limit: 100 })),
  );
  const ids = waiting.flat().map(({ id }) => id);
  if (ids.length === 0) return [];
  const rules: ClaimRules = { ...RULES, claim: 'mine', ids, ...more };
  return (await store.write((tx) => claimAttempts(tx, rules))).attempts;
}

export async function claimOne(store: Store, more: Partial<ClaimRules> = {}): Promise<DeliveryAttempt> {
  const [turn] = await claim(store, more);
  assert.ok(turn !== undefined, 'nothing was claimed');
  return turn;
}

export function settle(
  store: Store,
  turn: DeliveryAttempt,
  result: AttemptResult,
  more: { now?: number; goOn?: boolean } = {},
): Promise<Settled | null> {
  return store.write((tx) =>
    settleAttempt(tx, turn, result, { ...RULES, random: 0.5, goOn: false, ...more }),
  );
}

/** Those columns of a row that are named in `expected`, compared with it. */
export function has<T extends object>(row: T | undefined, expected: Partial<T>, title = 'row'): void {
  assert.ok(row !== undefined, title);
  const seen = Object.fromEntries(Object.keys(expected).map((key) => [key, row[key as keyof T]]));
  assert.deepEqual(seen, expected, title);
}

type Run = Parameters<typeof withStore>[1];
type RunOne = (store: Store, id: string, open: TestDatabase['open']) => Promise<void>;

interface Scenarios {
  readonly scenario: (title: string, run: Run) => void;
  /** With one webhook and some deliveries that are due. */
  readonly one: (title: string, due: number, run: RunOne, more?: Partial<WebhookRow>) => void;
}

export function scenarios(create: () => Promise<TestDatabase>): Scenarios {
  const scenario: Scenarios['scenario'] = (title, run) => {
    it(title, () => withStore(create, run));
  };
  return {
    scenario,
    one: (title, due, run, more = {}) =>
      scenario(title, async (store, open) => {
        const id = await addWebhook(store, await addCustomer(store), more);
        if (due > 0) await enqueue(store, id, due, NOW - 100);
        await run(store, id, open);
      }),
  };
}
