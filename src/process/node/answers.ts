/** What answers in a worker thread, behind its sockets: zones and their signers, the packet handler, and what it counts. */
import { every } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { createRecorder } from '../../dns/accounting/recorder.ts';
import type { NodeKeySetData } from '../../dns/dnssec/node-key-set.ts';
import { type DatasetSettings, datasetService, type Services } from '../../dns/query/operations.ts';
import {
  type CacheObserver,
  makePacketHandler,
  type PacketContext,
  type ReloadableHandler,
} from '../../dns/query/packet.ts';
import type { ServedZone } from '../../dns/query/zones.ts';
import { DATASETS_RESOURCE } from '../../protocol/names/labels.ts';
import type { DatasetView, HostedView } from '../../view/view.ts';
import { servedZones, type WorkerSettings } from './settings.ts';

type AnswerSettings = Pick<
  WorkerSettings,
  'zones' | 'nameServers' | 'signing' | 'keys' | 'nodeName' | 'sync' | 'demo' | 'datasets' | 'accounting'
>;

interface AnswersOptions
  extends Pick<PacketContext, 'freshness' | 'services' | 'asker' | 'cache' | 'timers'> {
  readonly settings: AnswerSettings;
  readonly view: HostedView & { readonly datasets: DatasetView };
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly observe: CacheObserver & { query(status: number): void };
  /** Takes what was counted; the buffer is not used again here. */
  readonly counted: (buffer: ArrayBuffer) => void;
}

export interface Answers {
  readonly handler: ReloadableHandler;
  /**
   * @param keys undefined: those in use stay, and only cached replies are dropped
   * @returns puts them to use, which cannot fail
   * @throws KeyError for unusable keys: the earlier ones stay
   */
  change(keys: readonly NodeKeySetData[] | undefined): () => void;
  /** Hands over what was counted last. No question may come any more. */
  stop(): Promise<void>;
}

/** Milliseconds between two hand-overs of what was counted. A worker that dies loses what it counted since the last. */
const HANDOVER_MS = 1000;

export function openAnswers(options: AnswersOptions): Answers {
  const { settings, view, services, clock, timers, observe, counted } = options;
  const { zones, nameServers, signing: mode } = settings;
  const zonesOf = (keys: readonly NodeKeySetData[]) => servedZones({ zones, nameServers, mode, keys, clock });
  let served: readonly ServedZone[] = zonesOf(settings.keys);
  const recorder = createRecorder({ startedAt: clock(), onQuery: (status) => observe.query(status) });
  const handOver = (): void => {
    const buffer = recorder.handOver(clock());
    if (buffer !== null) counted(buffer);
  };
  const handler = makePacketHandler({
    ...options,
    access: { sync: settings.sync, demo: settings.demo },
    services: withDatasets(services, view.datasets, settings.datasets),
    zones: served,
    identity: settings.nodeName,
    ...(settings.accounting && { accounting: recorder }),
  });
  const handOvers = every({ ms: HANDOVER_MS, task: handOver, onError() {}, ...(timers && { timers }) });
  return {
    handler,
    change(keys) {
      const next = keys === undefined ? served : zonesOf(keys);
      return () => {
        served = next;
        handler.reload(served);
      };
    },
    async stop() {
      await handOvers.stop();
      handOver();
    },
  };
}

/** The registry is no service of `GET /schema`: `info.datasets` is refused. */
function withDatasets(services: Services, view: DatasetView, settings: DatasetSettings | null): Services {
  if (settings === null) return services;
  return new Map([...services, [DATASETS_RESOURCE, datasetService(view, settings)]]);
}
