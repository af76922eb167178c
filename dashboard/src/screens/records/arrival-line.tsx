import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, bytesOf, type Meta, type NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { Explain } from '../../ui/explain.tsx';
import { type Arrival, type Views, watchArrival } from './arrival.ts';
import { arrivalParts } from './arrival-text.ts';
import { showsWrite } from './dns-answer.ts';
import { dropToken, firstTokenFor } from './page-tokens.ts';
import type { Saved } from './save-record.ts';

export interface ArrivalLineProps {
  readonly saved: Saved;
  readonly meta: Meta;
  /** Undefined: it is not known, so nobody can ask. */
  readonly namespace: NamespaceResource | undefined;
  /** It is shown elsewhere, and only read out here. */
  readonly isHidden: boolean;
  readonly onArrival: (arrival: Arrival) => void;
}

/** Where is my write: `written 12 ms · in the view 31 ms · answered 38 ms`. Give it a key for each write. */
export function ArrivalLine({ saved, meta, namespace, isHidden, onArrival }: ArrivalLineProps) {
  const [arrival, setArrival] = useState<Arrival | null>(null);
  const latest = useRef({ namespace, onArrival });
  latest.current = { namespace, onArrival };
  useEffect(() => {
    const ending = new AbortController();
    watch(saved, meta, latest.current.namespace, ending.signal, setArrival).catch(() => {
      if (!ending.signal.aborted) setArrival((last) => (last === null ? null : { ...last, ended: 'late' }));
    });
    return () => ending.abort();
  }, [saved]);
  useEffect(() => {
    if (arrival !== null) latest.current.onArrival(arrival);
  }, [arrival]);
  if (arrival === null) return null;
  return (
    <p class={isHidden ? 'hidden' : 'note arrival'} role="status">
      <span class="code">{saved.record.key}</span> {arrivalParts(arrival).join(' · ')} <Explain of="node" />
    </p>
  );
}

async function watch(
  saved: Saved,
  meta: Meta,
  namespace: NamespaceResource | undefined,
  signal: AbortSignal,
  show: (arrival: Arrival) => void,
): Promise<void> {
  const { key, ttl_seconds } = saved.record;
  const data = bytesOf(saved.record);
  // The token is made while the write is on its way to the nodes. Without one a private namespace is not asked.
  const token = namespace === undefined ? Promise.resolve(null) : firstTokenFor(namespace).catch(() => null);
  const { askDns, mayPass, pageReader } = await import('./ask-dns.ts');
  const reader = pageReader(meta);
  const { ended } = await watchArrival(
    {
      now: () => performance.now(),
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      views: async () => (saved.seq === null ? null : await viewsOf(saved.seq, signal)),
      answer: async () => {
        signal.throwIfAborted();
        const held = await token;
        if (held === null && namespace?.public_read !== true) return 'unasked';
        const answer = await askDns(reader, key, held, signal);
        if (answer.kind === 'refused') return 'refused';
        if (answer.kind === 'record') return showsWrite(answer.reading, data, ttl_seconds) ? 'new' : 'old';
        return answer.kind === 'failed' && !mayPass(answer.error) ? 'none' : 'old';
      },
      show: (arrival) => {
        if (!signal.aborted) show(arrival);
      },
    },
    saved.started,
    saved.answered,
  );
  // A token that is refused for so long is not a new one.
  const held = await token;
  if (ended === 'refused' && held !== null) dropToken(held);
}

/** A failure of one question does not end the watch, but the end of the session does. */
async function viewsOf(seq: string, signal: AbortSignal): Promise<Views | 'unknown'> {
  try {
    return await api.propagation(seq, { signal });
  } catch (error) {
    if (signal.aborted || (error instanceof ApiError && error.status === 401)) throw error;
    return 'unknown';
  }
}
