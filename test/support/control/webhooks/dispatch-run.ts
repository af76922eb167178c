import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import {
  type Dispatcher,
  type DispatcherOptions,
  startDispatcher,
} from '../../../../src/control/webhooks/dispatcher.ts';
import type { AttemptRequest, AttemptResult } from '../../../../src/control/webhooks/send-attempt.ts';
import type { DeliveryError } from '../../../../src/protocol/webhooks.ts';
import type { Store } from '../../../../src/store/store.ts';
import { type TestDatabase, withStore } from '../../store/fixtures.ts';
import { addCustomer, addWebhook, NO_ENCRYPTION, statusesOf, until } from './dispatch-world.ts';

export const SCHEDULE = [0, 5, 300, 1800, 7200];
export const RIGHT: AttemptResult = { error: null, responseCode: 200, durationMs: 1, retryAfter: null };

export function wrong(error: DeliveryError = 'http_status', responseCode = 500): AttemptResult {
  return { error, responseCode, durationMs: 1, retryAfter: null };
}

/** One attempt that a dispatcher made. */
export interface Made extends AttemptRequest {
  /** By the test's clock. */
  readonly at: number;
  /** The number in its body. */
  readonly seq: number;
}

/** Dispatchers over one store, with endpoints and time of the test's own. */
export interface DispatchRun {
  readonly store: Store;
  readonly open: TestDatabase['open'];
  /** The time, milliseconds; for the test to move. */
  now: number;
  /** What an endpoint answers. Default: success. */
  answer: (made: Made) => AttemptResult | Promise<AttemptResult>;
  /** In the order in which they were begun. */
  readonly made: readonly Made[];
  /** Attempts under way. */
  readonly underWay: () => number;
  /** A wait that ends with the scenario: an endpoint that says nothing. */
  readonly silence: Promise<AttemptResult>;
  /** Faults of the server. A scenario removes those that it expects. */
  readonly faults: unknown[];
  start(more?: Partial<DispatcherOptions>): Started;
  /** Moves the time and wakes the dispatchers. */
  pass(ms: number): void;
}

export interface Started extends Dispatcher {
  stop(): Promise<void>;
}

/** A scenario on a database of its own. Dispatchers end with it. */
export function dispatchScenario(
  create: () => Promise<TestDatabase>,
  title: string,
  scenario: (run: DispatchRun) => Promise<void>,
): void {
  it(title, () =>
    withStore(create, async (store, open) => {
      const ending = Promise.withResolvers<AttemptResult>();
      const started: Started[] = [];
      const made: Made[] = [];
      let underWay = 0;
      const sendAttempt = async (request: AttemptRequest): Promise<AttemptResult> => {
        const { seq } = JSON.parse(Buffer.from(request.body).toString()) as { seq: number };
        const one = { ...request, at: run.now, seq };
        made.push(one);
        underWay++;
        try {
          // The end of the scenario ends every attempt, so that a failed test does not hang.
          return await Promise.race([run.answer(one), ending.promise]);
        } finally {
          underWay--;
        }
      };
      const run: DispatchRun = {
        store,
        open,
        now: 10_000_000,
        answer: () => RIGHT,
        made,
        underWay: () => underWay,
        silence: ending.promise,
        faults: [],
        start(more) {
          const abort = new AbortController();
          const dispatcher = startDispatcher({
            store,
            clock: () => run.now,
            newId: randomUUID,
            random: () => 0.5,
            sendAttempt,
            encryption: NO_ENCRYPTION,
            schedule: SCHEDULE,
            signal: abort.signal,
            onError: (error) => run.faults.push(error),
            ...more,
          });
          const stop = (): Promise<void> => {
            abort.abort();
            return dispatcher.stopped;
          };
          const one = { ...dispatcher, stop };
          started.push(one);
          return one;
        },
        pass(ms) {
          run.now += ms;
          for (const one of started) one.wake();
        },
      };
      try {
        await scenario(run);
      } finally {
        ending.resolve(wrong('timeout'));
        await Promise.all(started.map((one) => one.stop()));
      }
      assert.deepEqual(run.faults, []);
    }),
  );
}

/** One webhook of a customer of its own. */
export async function hookOf({ store }: DispatchRun, name = 'acme'): Promise<string> {
  return addWebhook(store, await addCustomer(store, name));
}

export const urlOf = (id: string): string => `https://${id}.test/`;

export async function delivered(store: Store, id: string, count: number): Promise<void> {
  await until(`${count} deliveries`, async () => (await statusesOf(store, id)).succeeded === count);
}

export const seqs = (run: DispatchRun): number[] => run.made.map((one) => one.seq);
