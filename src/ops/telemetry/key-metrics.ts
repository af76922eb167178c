import { Counter, Gauge, type Registry } from 'prom-client';
import type { KEY_ROLES, ROLLOVER_STEPS } from './vocabulary.ts';

type KeyRole = (typeof KEY_ROLES)[number];

/** The keys of one role, over all zones. */
export interface KeysNow {
  readonly role: KeyRole;
  /** When the key that has signed for longest began to sign, milliseconds since the epoch; null: not looked at yet, or nothing is signed. */
  readonly signsSince: number | null;
  /** A step of a rollover is due and waits. */
  readonly waits: boolean;
}

/** @param now empty in a process that does not hold the keys of zones; @returns counts a step of a rollover */
export function registerKeyMetrics(
  registry: Registry,
  now: () => readonly KeysNow[],
): (role: KeyRole, step: (typeof ROLLOVER_STEPS)[number]) => void {
  const registers = [registry];
  const labelNames = ['role'];
  new Gauge({
    registers,
    name: 'uqrp_dnssec_key_signs_since_timestamp_seconds',
    help: 'When the oldest signing key of a role began to sign, Unix time',
    labelNames,
    collect() {
      this.reset();
      for (const { role, signsSince } of now()) {
        if (signsSince !== null) this.set({ role }, Math.floor(signsSince / 1000));
      }
    },
  });
  new Gauge({
    registers,
    name: 'uqrp_dnssec_rollover_waiting',
    help: 'Whether a due step of a key rollover waits for the parent, resolvers or nodes: 1 or 0',
    labelNames,
    collect() {
      this.reset();
      for (const { role, waits } of now()) this.set({ role }, waits ? 1 : 0);
    },
  });
  const steps = new Counter({
    registers,
    name: 'uqrp_dnssec_rollover_steps_total',
    help: 'Steps of key rollovers that this process took',
    labelNames: ['role', 'step'],
  });
  return (role, step) => steps.inc({ role, step });
}
