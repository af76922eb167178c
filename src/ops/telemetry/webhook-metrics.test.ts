import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { loadConfig } from '../config/config.ts';
import { registerWebhookMetrics } from './webhook-metrics.ts';

test('a delivery that succeeds at a retry is counted by which retry that was', async () => {
  const registry = new Registry();
  registerWebhookMetrics(registry, () => null).arrived(1);
  const text = await registry.metrics();
  const bounds = [...text.matchAll(/^uqrp_webhook_arrival_seconds_bucket\{le="(\d+)"\}/gm)].map(([, le]) =>
    Number(le),
  );
  for (const seconds of loadConfig({}).webhookSchedule)
    assert.ok(seconds === 0 || bounds.includes(seconds), `a bucket ends with the retry after ${seconds} s`);
});
