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

interface Tail<T> {
  readonly of: string;
  readonly items: readonly T[];
  readonly next: string | null;
}

/** A listing, page by page. @param key names the listing, as that of a resource; null: reads nothing */
export function useListing<T>(
  key: string | null,
  list: (signal?: AbortSignal) => Listing<T>,
): ListingRead<T> {
  const first = useResource(key, (signal) => list(signal).page());
  const [tail, setTail] = useState<Tail<T> | null>(null);
  const { isBusy, error, run } = useAction();
  const of = `${key} ${first.value?.next ?? ''}`;
  const held = tail?.of === of ? tail : null;
  const items = [...(first.value?.items ?? []), ...(held?.items ?? [])];
  const next = held === null ? (first.value?.next ?? null) : held.next;
  const more = async (): Promise<void> => {
    const page = await list().page(next);
    setTail({ of, items: [...(held?.items ?? []), ...page.items], next: page.next });
  };
  return { first, items, more: next === null ? undefined : () => run(more), isReading: isBusy, error };
}
