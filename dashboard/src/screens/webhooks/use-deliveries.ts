/** The history of a webhook for its page. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { DeliveryResource, DeliveryStatus } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import {
  DELIVERIES_MAX,
  type DeliveryList,
  NO_DELIVERIES,
  withDelivery,
  withFirst,
  withOlder,
} from './delivery-list.ts';

const PAGE = 50;
/** Deliveries change by themselves: soon while some wait, else when something happens. */
const POLL_PENDING_MS = 2_000;
const POLL_MS = 5_000;

export interface Deliveries extends DeliveryList {
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly again: () => void;
  readonly readOlder: (() => void) | undefined;
  readonly replace: (delivery: DeliveryResource) => void;
}

/** @param status null: all, those attempted first */
export function useDeliveries(id: string, status: DeliveryStatus | null): Deliveries {
  const key = `deliveries ${id} ${status ?? ''}`;
  const [{ of, list }, set] = useState<{ of: string; list: DeliveryList }>({ of: key, list: NO_DELIVERIES });
  const change = useCallback(
    (next: (list: DeliveryList) => DeliveryList) =>
      set((now) => ({ of: key, list: next(now.of === key ? now.list : NO_DELIVERIES) })),
    [key],
  );
  const shown = of === key ? list : NO_DELIVERIES;
  const listing = (signal?: AbortSignal) =>
    api.webhooks.deliveries(id, status === null ? { order: 'attempted' } : { status }, {
      limit: PAGE,
      signal,
    });
  const first = useResource(key, (signal) => listing(signal).page());
  useEffect(() => {
    const page = first.value;
    if (page !== undefined) change((now) => withFirst(now, page));
  }, [first.value, change]);
  const isWaiting = shown.items.some((one) => one.status === 'pending');
  usePoll(isWaiting ? POLL_PENDING_MS : POLL_MS, first.poll);
  const [failure, setFailure] = useState<unknown>(undefined);
  const isReading = useRef(false);
  const { next } = shown;
  const readOlder = (): void => {
    if (isReading.current || typeof next !== 'string') return;
    isReading.current = true;
    listing()
      .page(next)
      .then((page) => change((now) => withOlder(now, page)), setFailure)
      .finally(() => {
        isReading.current = false;
      });
  };
  const mayRead = typeof next === 'string' && shown.items.length < DELIVERIES_MAX && failure === undefined;
  return {
    ...shown,
    isLoading: first.state === 'loading',
    error: first.error ?? failure,
    again: () => {
      setFailure(undefined);
      first.again();
    },
    readOlder: mayRead ? readOlder : undefined,
    replace: (delivery) => change((now) => withDelivery(now, delivery)),
  };
}
