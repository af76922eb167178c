/** Faults where the database is another one than before: a backup was put back, or a standby that lacks the last commits took its place. */
import type { PlantedText } from '../../scripts/plant.ts';

export interface PlantedFault extends PlantedText {
  /** What the world says when it finds it. */
  readonly finds: RegExp;
  /** What a customer or operator would have seen. */
  readonly why: string;
  /** It is looked for with small limits. */
  readonly small?: true;
}

export const PLANTED_IN_LOGS: Readonly<Record<string, PlantedFault>> = {
  'same-epoch-after-restore': {
    why: 'a restored backup is the same log to everybody',
    file: 'test/simulation/database.ts',
    from: 'await truth.write((tx) => renewEpoch(tx, scheduler.now()));',
    to: '',
    finds: /^not at rest|serves what was erased|refuses an existing name/,
  },
  'changes-of-another-log': {
    why: 'after a failover, changes of the log that goes on are taken for those of the one before',
    file: 'src/store/log/change-reader.ts',
    from: "and :epoch = (select value from service_facts where name = 'epoch')",
    to: 'and :epoch = :epoch',
    finds:
      /honours a revoked token|serves what|refuses an existing name|^not at rest|ModelError: n\d answers/,
  },
  'place-in-another-log': {
    why: 'who follows /changes over a failover is told nothing of as many changes as were lost',
    file: 'src/control/changes/rows.ts',
    from: 'epoch !== epochTag(bounds.epoch) || seq',
    to: 'seq',
    finds: /ModelError: \/changes of \w+ (lacks|has|tells)/,
  },
  'publisher-of-another-log': {
    why: 'after a failover nothing is in the stream any more: nodes ask control for all changes, at each heartbeat',
    file: 'src/feed/publish/publisher.ts',
    from: 'if (bounds !== null && bounds.epoch !== work.epoch) {',
    to: 'if (bounds?.epoch === null) {',
    finds: /^the stream ends with/,
  },
  'numbers-given-twice': {
    why: 'receivers of webhooks ignore events after a restore or a failover: they have seen higher numbers',
    file: 'src/store/service-facts.ts',
    from: 'update event_counters set seq = ',
    to: 'update event_counters set seq = seq + 0 * ',
    finds: /a number of before/,
  },
};
