import { decodeHandover } from '../../../../src/dns/accounting/recorder.ts';

export interface Counted {
  /** `status transport labels namespace`, in order. */
  readonly rows: readonly string[];
  /** Metered answers by namespace. */
  readonly answers: Readonly<Record<string, number>>;
}

/** What a worker handed over, as text that a test compares. */
export function countedIn(buffer: ArrayBuffer | null): Counted {
  if (buffer === null) return { rows: [], answers: {} };
  const handover = decodeHandover(buffer);
  const rows = handover
    .rows()
    .map(({ status, transport, resource, version, namespaceId }) =>
      [status, transport, resource === null ? '-' : `${resource}.${version}`, namespaceId].join(' '),
    );
  const answers: Record<string, number> = {};
  for (const { namespaceId, answers: n } of handover.totals) if (n > 0) answers[namespaceId] = n;
  return { rows, answers };
}
