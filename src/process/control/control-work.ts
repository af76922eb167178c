/** What a control process does over its store, whatever carries its requests and webhooks: the REST API, and the loops behind it. */

import type { FastifyInstance } from 'fastify';
import { type Random, randomFraction, realRandom } from '../../base/chance.ts';
import { every } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { aesGcmEncryption, randomPool } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import { openSignInCodes } from '../../control/accounts/sign-in.ts';
import { createApi } from '../../control/api.ts';
import type { ApiDeps } from '../../control/api-deps.ts';
import { startDeletions } from '../../control/namespaces/deletion.ts';
import { openChallenges, sweepChallenges } from '../../control/passkeys/challenges.ts';
import { startSweeper } from '../../control/records/expiry.ts';
import { sharedLimiter } from '../../control/shared-limiter.ts';
import {
  createLogSigner,
  runLogSigner,
  type SignerDeps,
  type SignerReport,
} from '../../control/transparency/signer.ts';
import { openPositions, SWEEP_EVERY, sweepAnswers } from '../../control/unit.ts';
import { runWebhookLoops } from '../../control/webhooks/loops.ts';
import type { NoticesOptions } from '../../control/webhooks/notices.ts';
import { createSendAttempt } from '../../control/webhooks/send-attempt.ts';
import { memoryLimiter, unlimited } from '../../http/limiter.ts';
import type { Config } from '../../ops/config/config.ts';
import { deriveKey, type Secret } from '../../ops/config/data-dir.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import type { OutboundClient } from '../../outbound/outbound-client.ts';
import { isDiskFull } from '../../store/engine/engine-errors.ts';
import type { Store } from '../../store/store.ts';
import { startUpkeep } from '../../store/upkeep.ts';
import { usageSink } from '../../store/usage.ts';
import { webhookSecretEncryption } from '../start-checks.ts';
import { makeDeps } from '../use-case-deps.ts';

export type StoreFault = `${'sweeper' | 'store' | 'fanout' | 'dispatcher' | 'notices'}.failing`;

export interface ControlWorkOptions {
  /** What the API needs from outside. */
  readonly api: Pick<
    ApiDeps,
    | 'sendCode'
    | 'sendInvitation'
    | 'checkUrl'
    | 'publicUrl'
    | 'service'
    | 'serveOther'
    | 'nodes'
    | 'freeMemory'
  >;
  readonly config: Pick<
    Config,
    'zones' | 'organizations' | 'billing' | 'trustedProxies' | 'restRate' | 'webhookSchedule' | 'auditDays'
  >;
  readonly store: Store;
  readonly secret: Secret;
  readonly clock: Clock;
  /** Without them each part has those that suit it. */
  readonly timers?: Timers | undefined;
  readonly random?: Random;
  /** Sends webhooks. */
  readonly outbound: OutboundClient;
  /** Of notices to owners of webhooks; null: there is no mail. */
  readonly mailer: NoticesOptions['mailer'];
  readonly onNotice: NoticesOptions['onNotice'];
  readonly metrics: Pick<Metrics, 'http' | 'swept' | 'webhooks'>;
  /** Null or absent: what datasets publish goes into no transparency log. */
  readonly transparency?: ControlTransparency | null;
  /** See `startUpkeep`. */
  readonly onScrubbed: (heldMs: number) => void;
  readonly onStoreFault: (event: StoreFault, error: unknown) => void;
  readonly onRequestFailed: NonNullable<ApiDeps['onError']>;
}

export interface ControlTransparency extends Pick<SignerDeps, 'policy' | 'send' | 'findKey'> {
  /** After a pass. */
  readonly onReport: (report: SignerReport) => void;
  readonly onError: (error: unknown) => void;
}

export interface ControlWork {
  /** Not listening yet. */
  readonly app: FastifyInstance;
  /** How the transparency log is; null: there is none in this process. */
  transparency(): SignerReport | null;
  /** Starts no new background work; requests go on. `stop` waits for the work that has started. */
  quiesce(): void;
  stop(): Promise<void>;
}

/** Changes stay in the log for this time. A node that was away for longer starts from a snapshot. */
const KEEP_LOG_MS = 7 * 86_400_000;

export function startControlWork(options: ControlWorkOptions): ControlWork {
  const { config, store, secret, clock, timers, metrics, onStoreFault, onRequestFailed } = options;
  const { random = realRandom } = options;
  const limiter = !config.restRate
    ? unlimited
    : store.engine === 'postgres'
      ? sharedLimiter(store, clock)
      : memoryLimiter(clock);
  const deps = makeDeps(config, store, secret, clock, random);
  const encryption = webhookSecretEncryption(secret, random);
  const sendAttempt = createSendAttempt(options.outbound, clock, timers ?? backgroundTimers);
  const app = createApi({
    ...deps,
    ...options.api,
    codes: openSignInCodes(deps, secret),
    encryption,
    organizations: config.organizations,
    challenges: openChallenges(deps, deriveKey(secret, 'passkey-challenge', 32)),
    answers: aesGcmEncryption(deriveKey(secret, 'idempotency-answer', 32), random, 0),
    timers: timers ?? backgroundTimers,
    sendAttempt,
    limiter,
    trustedProxies: config.trustedProxies,
    billing: config.billing,
    positions: openPositions(aesGcmEncryption(deriveKey(secret, 'feed-position', 32), randomPool(random), 0)),
    flags: {
      limiter: config.restRate ? memoryLimiter(clock) : unlimited,
      ticketKey: deriveKey(secret, 'flag-ticket', 32),
      usage: usageSink(store, clock),
    },
    transparencyLog: options.transparency
      ? { limiter: config.restRate ? memoryLimiter(clock) : unlimited }
      : null,
    observe: (observation) => metrics.http(observation),
    onError: (error, requestId) => {
      if (isDiskFull(error)) onStoreFault('store.failing', error);
      onRequestFailed(error, requestId);
    },
  });
  const ending = new AbortController();
  const { signal } = ending;
  const faultsOf =
    (event: StoreFault) =>
    (error: unknown): void =>
      onStoreFault(event, error);
  const common = { store, clock, signal, timers, onError: faultsOf('store.failing') };
  const sweep = every({
    ms: SWEEP_EVERY,
    task: async () => {
      await sweepAnswers({ store, clock });
      await sweepChallenges({ store, clock });
    },
    onError: common.onError,
    ...(timers && { timers }),
  });
  const signer = options.transparency
    ? createLogSigner({ ...options.transparency, store, clock, random })
    : null;
  const loops = [
    ...(signer && options.transparency
      ? [runLogSigner({ ...options.transparency, signer, store, signal, timers })]
      : []),
    startSweeper({
      ...common,
      onSwept: (records) => metrics.swept(records),
      onError: faultsOf('sweeper.failing'),
    }),
    startUpkeep({
      ...common,
      keepLog: KEEP_LOG_MS,
      keepAudit: config.auditDays * 86_400_000,
      onScrubbed: options.onScrubbed,
    }),
    startDeletions(common),
    runWebhookLoops({
      ...common,
      newId: deps.newId,
      random: () => randomFraction(random),
      encryption,
      sendAttempt,
      schedule: config.webhookSchedule,
      mailer: options.mailer,
      observe: metrics.webhooks,
      onNotice: options.onNotice,
      onFault: (loop, error) => onStoreFault(`${loop}.failing`, error),
    }),
  ];
  return {
    app,
    transparency: () => signer?.report() ?? null,
    quiesce: () => ending.abort(),
    async stop() {
      ending.abort();
      await Promise.all([...loops, sweep.stop()]);
    },
  };
}
