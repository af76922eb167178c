import { setTimeout as sleep } from 'node:timers/promises';
import type { HasClock, HasStore } from '../../accounts/deps.ts';
import { appendItemChanges } from '../../store/datasets/item-changes.ts';
import { insertParts, type Part } from '../../store/datasets/parts.ts';
import { addParts } from '../../store/datasets/versions.ts';
import { DatasetFault } from '../fault.ts';
import { type Claimed, LEASE_MS } from './claim.ts';
import type { PartSpool } from './part-spool.ts';

/** Of one unit of work: others wait while it runs, on SQLite for the writer, on PostgreSQL for the head of the log. */
const UNIT_PARTS = 48;
const UNIT_OCTETS = 262_144;
/**
 * After each unit the writer is free for half of the time that the unit took, and at least for this time: on SQLite another
 * process tries every 5 ms.
 */
const PAUSE_MS = 12;

export interface StoreOptions {
  readonly leaseMs?: number;
  /** Called after each unit. */
  readonly onProgress?: (parts: number, total: number) => void;
  readonly pauseMs?: number;
  readonly unitParts?: number;
}

/** Stores the parts that are not stored yet, in small units. @throws DatasetFault when the version is ours no more */
export async function storeParts(
  deps: HasStore & HasClock,
  { lease, parts: stored }: Claimed,
  spool: PartSpool,
  { leaseMs = LEASE_MS, pauseMs = PAUSE_MS, unitParts = UNIT_PARTS, onProgress }: StoreOptions,
): Promise<void> {
  let done = stored;
  for (const unit of units(spool.read(stored), unitParts)) {
    const began = performance.now();
    await deps.store.write(async (tx) => {
      const now = deps.clock();
      if (!(await addParts(tx, lease, unit.length, now + leaseMs))) throw lost();
      await insertParts(tx, lease.versionId, unit);
      const items = unit.filter(({ kind }) => kind === 'items').map(({ part }) => part);
      if (items.length > 0) await appendItemChanges(tx, lease.versionId, items, now);
    });
    done += unit.length;
    onProgress?.(done, spool.parts);
    await sleep(Math.max(pauseMs, (performance.now() - began) / 2));
  }
}

/** The version was retired, or another import took it over. */
export function lost(): DatasetFault {
  return new DatasetFault(['the version was retired, or another import went on with it']);
}

function* units(parts: Iterable<Part>, max: number): Generator<Part[]> {
  let unit: Part[] = [];
  let octets = 0;
  for (const part of parts) {
    unit.push(part);
    octets += part.data.length;
    if (unit.length < max && octets < UNIT_OCTETS) continue;
    yield unit;
    unit = [];
    octets = 0;
  }
  if (unit.length > 0) yield unit;
}
