/** Signals that stop the server. The log accepts no other. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

export interface Signals {
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** The signal that stopped the process, or null. */
  received(): StopSignal | null;
  /** Called at each later SIGHUP. Earlier ones are ignored, since the start reads every file. */
  onHangup(listener: () => void): void;
}

/** Call before loading anything else: a SIGTERM during the start must end it with code 0, not kill it. */
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
