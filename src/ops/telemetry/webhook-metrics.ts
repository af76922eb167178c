import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { DeliveryError, DeliveryStatus } from '../../protocol/webhooks.ts';

/** Metrics of webhooks: numbers and members of closed sets, without names and addresses. */
export interface WebhookMetrics {
  /** Deliveries that wait to be attempted, and those dropped before (`unwritten`: which no history shows). */
  enqueued(counts: { readonly waiting: number; readonly dropped: number; readonly unwritten: number }): void;
  /** @param seconds that the attempt took */
  attempted(error: DeliveryError | 'none', seconds: number): void;
  ended(status: Exclude<DeliveryStatus, 'pending'>, deliveries: number): void;
  /** @param seconds from enqueueing to the attempt that was answered with a 2xx */
  arrived(seconds: number): void;
  disabled(): void;
}

const ATTEMPT_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const ARRIVAL_BOUNDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 1800, 7200];

/** @param oldestDue seconds that the longest waiting webhook has been due; null in a process that sends none */
export function registerWebhookMetrics(
  registry: Registry,
  oldestDue: () => Promise<number> | null,
): WebhookMetrics {
  const registers = [registry];
  const enqueued = new Counter({
    registers,
    name: 'uqrp_webhook_enqueued_total',
    help: 'Webhook deliveries that were enqueued',
  });
  const deliveries = new Counter({
    registers,
    name: 'uqrp_webhook_deliveries_total',
    help: 'Webhook deliveries that ended, by status',
    labelNames: ['status'],
  });
  const attempts = new Counter({
    registers,
    name: 'uqrp_webhook_attempts_total',
    help: 'Attempts of webhook deliveries by what went wrong',
    labelNames: ['error'],
  });
  const attemptSeconds = new Histogram({
    registers,
    name: 'uqrp_webhook_attempt_seconds',
    help: 'Time of an attempt',
    buckets: ATTEMPT_BOUNDS,
  });
  const arrivalSeconds = new Histogram({
    registers,
    name: 'uqrp_webhook_arrival_seconds',
    help: 'Time from enqueueing a delivery to the end of the attempt that succeeded',
    buckets: ARRIVAL_BOUNDS,
  });
  const disabled = new Counter({
    registers,
    name: 'uqrp_webhook_disabled_total',
    help: 'Webhooks that failed too often in a row',
  });
  new Gauge({
    registers,
    name: 'uqrp_webhook_oldest_due_seconds',
    help: 'How long the webhook that waits longest has been due',
    async collect() {
      // Without its database a process must still export the rest, `uqrp_database_up` above all.
      const seconds = await oldestDue()?.catch(() => null);
      if (seconds === undefined || seconds === null) this.remove();
      else this.set(seconds);
    },
  });
  return {
    enqueued({ waiting, dropped, unwritten }) {
      enqueued.inc(waiting);
      if (dropped + unwritten > 0) deliveries.inc({ status: 'dropped' }, dropped + unwritten);
    },
    attempted(error, seconds) {
      attempts.inc({ error });
      attemptSeconds.observe(seconds);
    },
    ended: (status, count) => deliveries.inc({ status }, count),
    arrived: (seconds) => arrivalSeconds.observe(seconds),
    disabled: () => disabled.inc(),
  };
}
