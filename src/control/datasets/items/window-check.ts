import { LIMITS } from '../../../base/limits.ts';
import type { DatasetItem, ItemWindow } from '../../../protocol/datasets/item.ts';
import { compareStarts, overlap } from '../../../protocol/datasets/window.ts';
import { faultAt, type ItemsFile } from './read-items.ts';

export interface PlacedWindow extends ItemWindow {
  readonly line: number;
}

/** Checks the windows of items whose lines come together. Holds those of one item. */
export class WindowCheck {
  readonly #file: ItemsFile;
  readonly #onItem: ((item: DatasetItem) => void) | undefined;
  #windows: PlacedWindow[] = [];
  #items = 0;

  /** @param onItem called with each item once its windows are checked, in the order of their starts */
  constructor(file: ItemsFile, onItem?: (item: DatasetItem) => void) {
    this.#file = file;
    this.#onItem = onItem;
  }

  get items(): number {
    return this.#items;
  }

  /**
   * Adds a window of the same item as the last one, or of a later item by the order of its letters. Returns false, and adds
   * nothing, for an earlier item.
   * @throws DatasetFault when windows of an item overlap, or are too many
   */
  add(window: PlacedWindow): boolean {
    const last = this.#windows[0]?.item;
    if (last !== undefined && window.item < last) return false;
    if (window.item !== last) this.#next();
    this.#windows.push(window);
    if (this.#windows.length > LIMITS.datasetWindows) {
      throw faultAt(this.#file, window.line, `the item has more than ${LIMITS.datasetWindows} windows`);
    }
    return true;
  }

  /** Checks the last item. */
  end(): void {
    this.#next();
  }

  #next(): void {
    if (this.#windows.length === 0) return;
    this.#items++;
    this.#windows.sort(compareStarts);
    for (const [i, later] of this.#windows.entries()) {
      const earlier = this.#windows[i - 1];
      if (earlier === undefined || !overlap(earlier, later)) continue;
      const [first, second] = [earlier.line, later.line].sort((a, b) => a - b) as [number, number];
      throw faultAt(this.#file, second, `the window overlaps that of line ${first}, of the same item`);
    }
    this.#onItem?.({ item: this.#windows[0]!.item, windows: this.#windows });
    this.#windows = [];
  }
}
