import type { ServedZone } from '../zone/served-zone.ts';
import { PacketCache, type PacketCacheSettings, type ReadCounter } from './packet-cache.ts';

/**
 * What a reload replaces, as one object. A query takes the current generation when it begins and uses it to its end: its
 * answer is signed by the keys of that generation and is stored in the cache of that generation alone.
 */
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
