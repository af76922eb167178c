import type { Market } from '../../../../src/services/crypto-prices.ts';
import type { Feed, Feeds } from '../../../../src/services/providers/feeds.ts';
import type { Fetched, RateLimit, Source, SourceName } from '../../../../src/services/providers/source.ts';

/** A source that a test answers for. */
export class FakeSource implements Source<Market> {
  readonly name: SourceName;
  readonly limits: readonly RateLimit[];
  /** Keys and validators in the order of the calls. */
  readonly calls: { readonly key: string; readonly validator: string | null }[] = [];
  /** What the next calls get; the last one stays. */
  answers: (Fetched<Market> | Promise<Fetched<Market>>)[] = [{ kind: 'failed' }];

  constructor(name: SourceName, limits: readonly RateLimit[] = [{ calls: 1000, perMs: 1000 }]) {
    this.name = name;
    this.limits = limits;
  }

  async load(key: string, validator: string | null): Promise<Fetched<Market>> {
    this.calls.push({ key, validator });
    return this.answers.length > 1 ? this.answers.shift()! : this.answers[0]!;
  }
}

/** A market that can be told from others by its price. */
export function market(price: number): Market {
  return { price, change: 0, percent: 0, volume: 1 };
}

export function value(price: number, more: object = {}): Fetched<Market> {
  return { kind: 'value', value: market(price), ...more };
}

export const TTL_MS = 10_000;
export const STALE_MS = 100_000;

const OFF: Feed<never> = { ttlMs: TTL_MS, staleMs: STALE_MS, asksNextWhenMissing: false, sources: [] };

/** Feeds of which `crypto` alone has sources. */
export function feedsOf(sources: readonly Source<Market>[], asksNextWhenMissing = false): Feeds {
  return { meteo: OFF, forex: OFF, stock: OFF, crypto: { ...OFF, asksNextWhenMissing, sources } };
}
