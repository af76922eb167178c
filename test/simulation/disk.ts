import type { SpoolFile } from '../../src/dns/accounting/spool.ts';
import type { MemoryState } from '../support/view/memory-view.ts';
import { createMemoryView } from '../support/view/memory-view.ts';
import type { Random } from './random.ts';
import type { ProcessTimers, Scheduler } from './scheduler.ts';

/** The disk of one node. It outlives its processes; what is not synchronised does not outlive the machine. */
export interface Disk {
  /** The view's file, which LMDB writes without synchronising. */
  view: MemoryState;
  isFull: boolean;
  spool(process: ProcessTimers): SpoolFile;
  /** The machine loses power. */
  powerLoss(): void;
  /** Files that were found with content at a start. */
  readonly spoolsRead: number;
}

/** Linux writes the names of a folder to the disk at least this often. */
export const FOLDER_SYNC_MS = 5_000;

/** @param delay milliseconds of one operation */
export function createDisk(random: Random, scheduler: Scheduler, delay: () => number): Disk {
  /** Names of files, as they are on the disk: the folder follows its files later. */
  let durable: string | null = null;
  let present: string | null = null;
  let draft: string | null = null;
  let spoolsRead = 0;
  /** Times that the power was lost. */
  let power = 0;

  function rename(content: string | null): void {
    present = content;
    const powerThen = power;
    scheduler.after(FOLDER_SYNC_MS, () => {
      if (power === powerThen) durable = content;
    });
  }

  const disk: Disk = {
    view: emptyView(),
    isFull: false,
    get spoolsRead() {
      return spoolsRead;
    },
    spool(process) {
      const step = (): Promise<void> =>
        new Promise((resolve, reject) => {
          process.after(delay(), () => {
            if (disk.isFull) reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
            else resolve();
          });
        });
      return {
        async read() {
          await new Promise<void>((resolve) => process.after(delay(), resolve));
          if (present !== null) spoolsRead++;
          return present;
        },
        async replace(text) {
          // Written, synchronised, renamed: a crash between two of these leaves the old file.
          draft = text;
          await step();
          await step();
          rename(draft);
          draft = null;
        },
        async remove() {
          await step();
          rename(null);
        },
      };
    },
    powerLoss() {
      power++;
      // Either name may be the one that is left.
      if (random.chance(0.5)) present = durable;
      durable = present;
      draft = null;
      // As the product does: a view that was open when the machine went down may be torn, and is not trusted.
      disk.view = emptyView();
    },
  };
  return disk;
}

export function emptyView(): MemoryState {
  return createMemoryView().state;
}
