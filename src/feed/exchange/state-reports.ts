/** A node's side: tells control how it is, every five seconds and at once after a connection. */
import { every } from '../../base/lifecycle/every.ts';
import { type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import type { Bus } from '../bus/bus.ts';
import type { Exchange } from './node-end.ts';
import { type NodeState, stateBody } from './state-body.ts';

export interface StateReportsOptions {
  readonly bus: Bus;
  readonly exchange: Exchange;
  readonly state: () => NodeState;
  /** Called after keys came, without which nothing can be sent. @returns ends it */
  readonly onKeys: (listener: () => void) => () => void;
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers;
}

/** Control calls a node late that was silent for three of these. */
export const STATE_MS = 5_000;

/** @returns ends the reports */
export function startStateReports(options: StateReportsOptions): () => Promise<void> {
  const { bus, exchange, state, onKeys, onError, timers = wholeSecondTimers } = options;
  const tell = (): void => exchange.tell('state', stateBody(state()));
  const stopListening = bus.onState((now) => {
    if (now === 'connected') tell();
  });
  const stopKeys = onKeys(tell);
  tell();
  const reports = every({ ms: STATE_MS, task: tell, onError, timers });
  return async () => {
    stopListening();
    stopKeys();
    await reports.stop();
  };
}
