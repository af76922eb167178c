import assert from 'node:assert/strict';
import { it } from 'node:test';
import { realTimers } from '../../base/lifecycle/timers.ts';
import type { DeliveryAttempt } from './attempts.ts';
import { runDeliveryWorker, type WorkerContext } from './dispatcher.ts';

const ATTEMPT: DeliveryAttempt = {
  claim: 'c',
  webhookId: 'w',
  customerId: 'u',
  url: 'https://hooks.example.org/',
  encryptedSecret: new Uint8Array(4),
  deliveryId: 'd',
  event: 'record.deleted',
  body: Buffer.from('{}'),
  attempt: 1,
  createdAt: 0,
};

it('a worker is free again when its lease is over, although the database never took its result (W06)', {
  timeout: 60_000,
}, async () => {
  const errors: unknown[] = [];
  const context = {
    store: { write: async () => Promise.reject(new Error('the database is away')) },
    clock: () => 0,
    timers: realTimers,
    random: () => 0.5,
    sendAttempt: async () => ({ error: null, responseCode: 200, durationMs: 1 }),
    encryption: { decrypt: () => 'secret' },
    schedule: [0],
    leaseMs: 200,
    signal: new AbortController().signal,
    observe: { attempted() {}, ended() {}, arrived() {}, disabled() {} },
    commitDelay: async () => {},
    onError: assert.ifError,
    onUnit: (error: unknown) => errors.push(error),
    interruptions: new Map(),
    othersWait: () => false,
  } as unknown as WorkerContext;
  await runDeliveryWorker(context, ATTEMPT, 'general');
  assert.ok(errors.length > 1, 'it repeats the unit as long as the lease is its own');
  assert.ok(errors.every((error) => error instanceof Error));
});
