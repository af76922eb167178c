import { Gauge, type Registry } from 'prom-client';
import {
  TRANSPARENCY_STATES,
  type TransparencyState,
  WITNESS_REPLIES,
  type WitnessReply,
} from './vocabulary.ts';

/** What the signer of this process found last. Sizes are numbers of entries. */
export interface TransparencyNow {
  readonly state: TransparencyState;
  readonly entries: number;
  readonly signed: number;
  readonly published: number;
  /** When the newest checkpoint was cosigned, milliseconds since the epoch; null: none is published. */
  readonly publishedAt: number | null;
  /** What each witness said when this process asked it last; none in a process that did not ask. */
  readonly witnesses: readonly { readonly state: WitnessReply }[];
}

/**
 * Metrics of the transparency log. They name no witness: `uqrp log status` does.
 * @param now null in a process that does not sign one
 * @param clock milliseconds since the epoch
 */
export function registerTransparencyMetrics(
  registry: Registry,
  now: () => TransparencyNow | null,
  clock: () => number,
): void {
  const gauge = (name: string, help: string, read: (found: TransparencyNow) => number | null): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      collect() {
        const found = now();
        const value = found === null ? null : read(found);
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  };
  gauge('uqrp_transparency_entries', 'Entries of the transparency log', ({ entries }) => entries);
  gauge(
    'uqrp_transparency_signed_entries',
    'Entries below the checkpoint that was signed last',
    ({ signed }) => signed,
  );
  gauge(
    'uqrp_transparency_published_entries',
    'Entries below the newest checkpoint that a quorum has cosigned',
    ({ published }) => published,
  );
  gauge(
    'uqrp_transparency_checkpoint_age_seconds',
    'Time since a quorum cosigned the newest checkpoint',
    ({ publishedAt }) => (publishedAt === null ? null : Math.max(0, (clock() - publishedAt) / 1000)),
  );
  // Every series is there from the first scrape on, so that an alert sees one begin.
  new Gauge({
    registers: [registry],
    name: 'uqrp_transparency_state',
    help: '1 for the state in which the transparency log is, 0 for the others',
    labelNames: ['state'],
    collect() {
      const found = now();
      if (found === null) this.reset();
      else for (const state of TRANSPARENCY_STATES) this.set({ state }, Number(found.state === state));
    },
  });
  new Gauge({
    registers: [registry],
    name: 'uqrp_transparency_witnesses',
    help: 'Witnesses of the transparency log by what they said last',
    labelNames: ['state'],
    collect() {
      const found = now();
      if (found === null) {
        this.reset();
        return;
      }
      for (const state of WITNESS_REPLIES) {
        this.set({ state }, found.witnesses.filter((witness) => witness.state === state).length);
      }
    },
  });
}
