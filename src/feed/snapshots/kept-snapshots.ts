/** Which views the broker keeps now, for the status of the feed. */
import type { Clock } from '../../base/clock.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import type { FeedVerifier } from '../batch/signature.ts';
import { type Bus, BusError } from '../bus/bus.ts';
import { manifestName, SLOTS } from './chunk-names.ts';
import { openManifest } from './manifest.ts';

export interface KeptSnapshot {
  readonly id: string;
  readonly seq: number;
  /** Since it was made. */
  readonly seconds: number;
}

/** Views at the broker whose manifests control signed, the newest first. None when the broker cannot be read. */
export async function keptSnapshots(
  bus: Bus,
  verifier: FeedVerifier,
  clock: Clock,
): Promise<readonly KeptSnapshot[]> {
  const found: KeptSnapshot[] = [];
  for (const slot of SLOTS) {
    try {
      const message = await bus.getChunk(manifestName('view', slot));
      if (message === null) continue;
      const { id, seq, at } = openManifest(message, verifier, 'view');
      found.push({ id: Buffer.from(id).toString('hex'), seq, seconds: Math.max(0, clock() - at) / 1000 });
    } catch (error) {
      if (!(error instanceof FeedRefusedError || error instanceof BusError)) throw error;
    }
  }
  return found.sort((a, b) => a.seconds - b.seconds);
}
