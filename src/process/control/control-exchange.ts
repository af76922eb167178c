/** What control does with what nodes send: takes their counts and rows, answers for providers, knows how they are, and tells it. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import type { KeyService } from '../../feed/keys/key-service.ts';
import type { FeedVerifier } from '../../feed/message/message.ts';
import { startMeter } from '../../feed/nodes/meter.ts';
import { collectNodeStates, type NodeStates } from '../../feed/nodes/node-states.ts';
import { keyOfNodes, type NodeList } from '../../feed/nodes/nodes.ts';
import { type PublisherReport, startStatus } from '../../feed/nodes/operator.ts';
import { answerProviderAsks } from '../../feed/nodes/provider-asks.ts';
import { type ControlIdentity, controlExchange, statusEnd } from '../../feed/rpc/control-identity.ts';
import type { ControlEnd } from '../../feed/rpc/rpc.ts';
import { keptSnapshots } from '../../feed/snapshots/snapshot-reader.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import type { ProviderClient } from '../../services/providers/client/provider-client.ts';
import { answerAsk } from '../../services/providers/remote/answer-ask.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import type { Store } from '../../store/store.ts';
import { existingNamespaces, usageSink } from '../../store/tables/usage.ts';
import { reportRefusals } from '../refusal-reports.ts';

export interface ControlExchangeOptions {
  readonly identity: ControlIdentity;
  readonly bus: Bus;
  readonly nodes: NodeList;
  readonly keys: Pick<KeyService, 'ring' | 'secrets'>;
  readonly verifier: FeedVerifier;
  readonly store: Store;
  readonly providers: Pick<ProviderClient, 'ask'>;
  /** Null while another process publishes. */
  readonly publisher: () => PublisherReport | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'feed'>;
}

export interface ControlExchange {
  readonly states: NodeStates;
  /** In the order in which they must end. */
  readonly stops: readonly (() => void | Promise<void>)[];
}

export function openControlExchange(options: ControlExchangeOptions): ControlExchange {
  const { identity, bus, nodes, keys, verifier, store, providers, clock, log, metrics } = options;
  const isDue = createReportLimits<'exchange'>(clock);
  const reports = {
    clock,
    onRefused: reportRefusals(log, metrics.feed, clock),
    onError: (error: unknown) => {
      if (isDue('exchange')) log.event('feed.exchange_failing', {}, error);
    },
  };
  const end: ControlEnd = {
    ...reports,
    bus,
    keyOf: keyOfNodes(() => nodes.current()),
    ring: () => keys.ring(),
    secrets: () => keys.secrets(),
  };
  const states = collectNodeStates({ end, names: () => nodes.current().map(({ name }) => name) });
  return {
    states,
    stops: [
      startMeter({
        end,
        usage: usageSink(store, clock),
        queryLog: queryLogSink(store, clock),
        existing: (ids) => existingNamespaces(store, ids),
        onLeftOut: (answers) => metrics.feed.leftOut(answers),
      }),
      answerProviderAsks(end, answerAsk(providers, clock)),
      startStatus({
        end: statusEnd(identity, { ...reports, bus, random: randomBytes }),
        exchange: controlExchange(identity, { bus, verifier, random: randomBytes, clock }),
        verifier,
        states,
        publisher: options.publisher,
        bounds: () => store.changes.bounds(),
        snapshots: () => keptSnapshots(bus, verifier, clock),
      }),
      () => states.stop(),
    ],
  };
}
