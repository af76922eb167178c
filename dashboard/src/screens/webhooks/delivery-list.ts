import type { DeliveryResource, Page } from '../../../../sdk/src/uqrp-sdk.ts';

/** Pages of the history that were read. Deliveries change while they are shown: the first page is read again and again. */
export interface DeliveryList {
  /** As the listing has them: those attempted first, the newest first. */
  readonly items: readonly DeliveryResource[];
  /** The page after the oldest one; null: there is none; undefined: nothing was read yet. */
  readonly next: string | null | undefined;
}

export const NO_DELIVERIES: DeliveryList = { items: [], next: undefined };

/** Colours of the states of a delivery. Their names say the same. */
export const STATUS_TONES = { pending: 'warn', succeeded: 'good', failed: 'bad', dropped: 'bad' } as const;

/** Most that the page keeps. */
export const DELIVERIES_MAX = 5_000;

/** The first page, read again. Older ones stay when the page meets them, else they go: deliveries may be between. */
export function withFirst(list: DeliveryList, page: Page<DeliveryResource>): DeliveryList {
  const last = page.items.at(-1);
  const at = last === undefined ? -1 : list.items.findIndex(({ id }) => id === last.id);
  if (at < 0) return { items: page.items, next: page.next };
  const older = list.items.slice(at + 1);
  return { items: [...page.items, ...older], next: older.length === 0 ? page.next : list.next };
}

export function withOlder(list: DeliveryList, page: Page<DeliveryResource>): DeliveryList {
  const known = new Set(list.items.map(({ id }) => id));
  return { items: [...list.items, ...page.items.filter(({ id }) => !known.has(id))], next: page.next };
}

export function withDelivery(list: DeliveryList, changed: DeliveryResource): DeliveryList {
  return { ...list, items: list.items.map((one) => (one.id === changed.id ? changed : one)) };
}
