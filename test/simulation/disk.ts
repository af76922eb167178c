import type { Files } from '../../src/base/files.ts';
import { createSimulatedDisk } from '../support/base/files/simulated-files.ts';
import type { MemoryState } from '../support/view/memory-view.ts';
import { createMemoryView } from '../support/view/memory-view.ts';
import type { Random } from './random.ts';
import type { ProcessTimers, Scheduler } from './scheduler.ts';

/** The disk of one node. It outlives its processes; what is not synchronised may not outlive the machine. */
export interface Disk {
  /** The view's file, which LMDB writes without synchronising. */
  view: MemoryState;
  isFull: boolean;
  /** No file can be read. */
  isUnreadable: boolean;
  /** Milliseconds that one operation takes longer at most. */
  slowMs: number;
  files(process: ProcessTimers): Files;
  /** The machine loses power. */
  powerLoss(): void;
  /** Files that were found with content at a start. */
  readonly spoolsRead: number;
}

/** Whoever has this disk may not have written its spool. */
export function isTroubled(disk: Disk): boolean {
  return disk.isFull || disk.isUnreadable || disk.slowMs > 0;
}

/** @param delay milliseconds of one operation */
export function createDisk(random: Random, scheduler: Scheduler, delay: () => number): Disk {
  const simulated = createSimulatedDisk({
    random: () => random.next(),
    now: () => scheduler.now(),
    delay: () => delay() + (disk.slowMs === 0 ? 0 : Math.floor(random.next() * disk.slowMs)),
  });
  const { faults } = simulated;
  let spoolsRead = 0;
  const disk: Disk = {
    view: emptyView(),
    slowMs: 0,
    get isUnreadable() {
      return faults.read > 0;
    },
    set isUnreadable(isUnreadable) {
      faults.read = isUnreadable ? 1 : 0;
    },
    get isFull() {
      return faults.capacity === 0;
    },
    set isFull(isFull) {
      faults.capacity = isFull ? 0 : Number.POSITIVE_INFINITY;
    },
    get spoolsRead() {
      return spoolsRead;
    },
    files(process) {
      const seen = simulated.files(process);
      return {
        ...seen,
        async: {
          ...seen.async,
          async read(path) {
            const content = await seen.async.read(path);
            spoolsRead++;
            return content;
          },
        },
      };
    },
    powerLoss() {
      simulated.powerLoss();
      // As the product does: a view that was open when the machine went down may be torn, and is not trusted.
      disk.view = emptyView();
    },
  };
  return disk;
}

export function emptyView(): MemoryState {
  return createMemoryView().state;
}
