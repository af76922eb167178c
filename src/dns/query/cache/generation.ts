import type { ServedZone } from '../zone/served-zone.ts';
import type { ReadCounter } from './cache-rows.ts';
import { PacketCache, type PacketCacheSettings } from './packet-cache.ts';

/** What one reload replaces. A query uses one generation from start to end, for its keys and for its cache. */
export interface Generation {
  readonly zones: readonly ServedZone[];
  readonly cache: PacketCache;
}

export function newGeneration(
  zones: readonly ServedZone[],
  readCounter: ReadCounter,
  settings?: PacketCacheSettings,
): Generation {
  return { zones, cache: new PacketCache(readCounter, settings) };
}
