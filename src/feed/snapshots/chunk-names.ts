/** Names of manifests and parts at the broker. A kind has two manifests, so that the older snapshot stays while one is made. */
import type { Manifest, SnapshotKind } from './manifest.ts';

export const SLOTS = [0, 1] as const;
export type Slot = (typeof SLOTS)[number];

export function manifestName(kind: SnapshotKind, slot: Slot): string {
  return `${kind}.manifest.${slot}`;
}

export function partName({ kind, id }: Pick<Manifest, 'kind' | 'id'>, index: number): string {
  return `${kind}.${idText(id)}.${index}`;
}

/** Whether a part belongs to none of these snapshots: what a writer that was killed has left, or of an older snapshot. */
export function isLeftOver(name: string, kind: SnapshotKind, kept: readonly Uint8Array[]): boolean {
  const [of, id] = name.split('.');
  return of === kind && id !== 'manifest' && !kept.some((keptId) => idText(keptId) === id);
}

export function idText(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
