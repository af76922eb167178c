import { setImmediate } from 'node:timers/promises';

/** What a server of ours counted: read from `/metrics` before and after a load, so that a cost is shown with what was measured. */
export interface Counters {
  readonly hits: number;
  readonly misses: number;
  /** Questions that the budget of fresh signatures cut down to a TC, delayed or refused. */
  readonly limited: number;
}

/**
 * Lets this process see what happened while a program that it waited for blocked it: the server may have closed a connection that `fetch`
 * keeps.
 */
export const nextTurn = (): Promise<void> => setImmediate();

/** @param port of REST and `/metrics` */
export async function readCounters(port: number): Promise<Counters> {
  await nextTurn();
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const sum = (pattern: RegExp): number =>
    [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    hits: sum(/^uqrp_dns_packet_cache_total\{result="hit"\} (\S+)/gm),
    misses: sum(/^uqrp_dns_packet_cache_total\{result="miss"\} (\S+)/gm),
    limited: sum(/^uqrp_dns_signing_limited_total\{\S+ (\S+)/gm),
  };
}

export function hitShare(before: Counters, after: Counters): number {
  const hits = after.hits - before.hits;
  return hits / (hits + after.misses - before.misses);
}
