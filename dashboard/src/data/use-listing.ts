import { useState } from 'preact/hooks';
import type { Listing } from '../../../sdk/src/uqrp-sdk.ts';
import { type Resource, useResource } from './resource.ts';
import { useAction } from './use-action.ts';

export interface ListingRead<T> {
  /** The first page, which is read again like any resource. */
  readonly first: Resource<unknown>;
  /** Of all pages that are read. */
  readonly items: readonly T[];
  /** Reads the next page; undefined: there is none. */
  readonly more: (() => void) | undefined;
  readonly isReading: boolean;
  /** Of the next page. */
  readonly error: unknown;
}

interface Held<T> {
  readonly of: string;
  /** From the first page on, as they were when the next one was read. */
  readonly items: readonly T[];
  readonly next: string | null;
}

/**
 * A listing whose newest items come first, page by page. Where the first page is read again, following ones stay below it.
 * @param key names the listing, as that of a resource
 */
export function useListing<T>(
  key: string,
  list: (signal?: AbortSignal) => Listing<T>,
  idOf: (item: T) => unknown,
): ListingRead<T> {
  const first = useResource(key, (signal) => list(signal).page());
  const [held, setHeld] = useState<Held<T> | null>(null);
  const { isBusy, error, run } = useAction();
  const head = first.value?.items ?? [];
  const start = first.value?.next ?? null;
  const last = head.at(-1);
  const known = held?.of === key ? held : null;
  // New items push old ones out of the first page. Without its last one among those that are held there may be a gap.
  const at = last === undefined ? -1 : (known?.items.findIndex((item) => idOf(item) === idOf(last)) ?? -1);
  const isHeld = known !== null && start !== null && at >= 0;
  const items = isHeld ? [...head, ...known.items.slice(at + 1)] : head;
  const next = isHeld ? known.next : start;
  const more = async (): Promise<void> => {
    const page = await list().page(next);
    setHeld({ of: key, items: [...items, ...page.items], next: page.next });
  };
  return { first, items, more: next === null ? undefined : () => run(more), isReading: isBusy, error };
}
