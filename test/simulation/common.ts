import type { Bus } from '../../src/feed/bus/bus.ts';
import type { FeedVerifier } from '../../src/feed/message/keys.ts';
import type { Counters } from './counters.ts';
import type { ControlSecrets, NodeSecrets } from './feed-secrets.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** What every process of one simulation has. */
export interface Common {
  readonly scheduler: Scheduler;
  readonly connect: (name: string) => Bus;
  /** Keys are made and delivered, messages are signed, and usage goes through the exchange. */
  readonly isWhole: boolean;
  /** For the seeds that are not whole. */
  readonly plain: ControlSecrets & NodeSecrets;
  readonly verifier: FeedVerifier;
  /** Of nonces, keys and numbers of questions. */
  readonly random: Random;
  readonly counters: Counters;
  readonly trace: (text: string) => void;
}
