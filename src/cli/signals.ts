/** Signals that stop the server. The log knows no other. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

export interface Signals {
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** The signal that stopped the process, null before. */
  received(): StopSignal | null;
  /** Called at each SIGHUP from now on; a SIGHUP before is forgotten, since the start reads every file anyway. */
  onHangup(listener: () => void): void;
}

/**
 * Takes over the signals of the process. Called before anything else is loaded: a SIGTERM during the start must end it in order,
 * with code 0, not kill it.
 */
export function takeSignals(): Signals {
  const ending = new AbortController();
  let received: StopSignal | null = null;
  let hangup = (): void => {};
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      received ??= signal;
      ending.abort();
    });
  }
  process.on('SIGHUP', () => hangup());
  return {
    stop: ending.signal,
    received: () => received,
    onHangup(listener) {
      hangup = listener;
    },
  };
}
