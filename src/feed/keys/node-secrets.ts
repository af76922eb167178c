/** The secrets of a node, at the node: those that control delivered last, else the copy on its disk. */
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { isKind } from '../message/message.ts';
import type { Freshness } from '../message/sealed.ts';
import { type NodeKeys, type NodeSecrets, secretsMark, type ZoneSecret } from '../ports/node-keys.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import { type NodeEndOptions, receiveDeliveries } from './deliveries-in.ts';
import { openSecrets, type SecretsCopy, type SecretsDelivery } from './secrets.ts';

interface NodeSecretsOptions extends NodeEndOptions {
  readonly copy: SecretsCopy;
  /** The first delivery may be of another database than the copy. */
  readonly acceptNewStore?: boolean;
  /** The copy is torn or another node's, or could not be written. Without one the node waits for control at its next start. */
  readonly onCopyFailed?: (error: unknown) => void;
}

interface BusNodeKeys extends NodeKeys {
  stop(): Promise<void>;
}

/** How long the copy waits for control after the start: signatures by keys that left the zone meanwhile are bogus. */
const PATIENCE_MS = 1_500;

export class NoSecretsError extends Error {
  override readonly name = 'NoSecretsError';

  constructor() {
    super('control has not delivered the keys of this node yet, and there is no copy of earlier ones');
  }
}

export function openNodeSecrets(options: NodeSecretsOptions): BusNodeKeys {
  const { bus, verifier, own, random, copy, elapsed = () => performance.now() } = options;
  const { timers = backgroundTimers, onRefused, onCopyFailed } = options;
  const startedAt = elapsed();
  const delivered = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  let isDelivered = false;
  /** Whether the copy on the disk is that of `held`. */
  let isKept = true;
  let held: NodeSecrets | null = null;
  /** Whose secrets these are; null: of the first that comes. */
  let database: string | null = null;
  /** Zones whose keys are to be used until those of `held` begin. */
  let earlier: readonly ZoneSecret[] = [];
  /** Of control's clock, and when it came: together they tell control's time. */
  let last = { at: 0, elapsed: 0 };
  try {
    const kept = copy.read();
    if (kept !== null) {
      held = kept.secrets;
      if (options.acceptNewStore !== true) database = kept.database;
      last = { at: kept.at, elapsed: startedAt };
    }
  } catch (error) {
    onCopyFailed?.(error);
  }

  function zonesNow(): readonly ZoneSecret[] {
    const now = last.at + elapsed() - last.elapsed;
    return (held?.zones ?? []).map((zone) => {
      const former = zone.from > now ? earlier.find((each) => each.zone === zone.zone) : undefined;
      return former ?? zone;
    });
  }

  /** @throws FeedRefusedError */
  function opened(message: Uint8Array, fresh: Freshness): SecretsDelivery {
    const delivery = openSecrets(message, verifier, own, fresh);
    if (database !== null && delivery.database !== database) throw new FeedRefusedError('epoch');
    return delivery;
  }

  function use({ at, database: of, secrets }: SecretsDelivery): void {
    const inUse = zonesNow();
    // Signatures of another process, made at the same time, are no reason to begin again.
    const zones = secrets.zones.map(
      (zone) => held?.zones.find((old) => old.zone === zone.zone && old.mark === zone.mark) ?? zone,
    );
    const next = { ...secrets, zones };
    const isNews = held === null || secretsMark(held) !== secretsMark(next);
    earlier = inUse;
    held = next;
    database = of;
    last = { at, elapsed: elapsed() };
    isDelivered = true;
    delivered.resolve();
    if (isNews) isKept = false;
    // After a full disk the next delivery tries again.
    if (isKept) return;
    try {
      copy.write({ at, database: of, secrets: next });
      isKept = true;
    } catch (error) {
      if (isNews) onCopyFailed?.(error);
    }
  }

  const deliveries = receiveDeliveries({
    bus,
    own,
    random,
    timers,
    subject: subjectOfNode(SUBJECTS.askSecrets, own.node),
    question: { ask: 'secrets', node: own.node },
    isWanted: (message) => isKind('UQFP', message),
    open: opened,
    lastAt: () => last.at,
    use,
    ...(onRefused === undefined ? {} : { onRefused }),
  });

  return {
    async read() {
      const patience = startedAt + PATIENCE_MS - elapsed();
      if (!isDelivered && patience > 0) {
        const late = Promise.withResolvers<void>();
        const cancel = timers.after(patience, () => late.resolve());
        await Promise.race([delivered.promise, late.promise, ending.promise]);
        cancel();
      }
      if (held === null) throw new NoSecretsError();
      return { ...held, zones: zonesNow() };
    },
    async stop() {
      ending.resolve();
      await deliveries.stop();
    },
  };
}
