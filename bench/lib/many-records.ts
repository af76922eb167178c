/** Records of a thousand namespaces, as the pages of a snapshot. */
import type { ChangeBody } from '../../src/protocol/change.ts';

const NAMESPACES = 1000;
const PAGE = 500;

export const namespaceAt = (i: number): string => `tenant-${i % NAMESPACES}`;
export const keyAt = (i: number): string => `item-${i}.catalog.${namespaceAt(i)}.v1`;

export interface ManyRecords {
  readonly records: number;
  /** Payload of record `i`. */
  readonly dataAt: (i: number) => Buffer;
  /** Record at a place of the snapshot; left out: the same number. */
  readonly order?: (place: number) => number;
  readonly isPublic: (namespace: number) => boolean;
}

export function recordAt(i: number, data: Buffer): ChangeBody {
  return {
    type: 'record.upserted',
    key: keyAt(i),
    namespace: namespaceAt(i),
    resource: 'catalog',
    version: 'v1',
    data: data.toString('base64'),
    contentType: 'application/json',
    ttlSeconds: 300,
    expiresAt: null,
  };
}

export async function* manyRecords({
  records,
  dataAt,
  order = (place) => place,
  isPublic,
}: ManyRecords): AsyncIterable<readonly ChangeBody[]> {
  yield Array.from({ length: NAMESPACES }, (_, i) => ({
    type: 'namespace.upserted' as const,
    namespace: namespaceAt(i),
    id: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    publicRead: isPublic(i),
    suspended: false,
    recordsCount: 0,
    createdAt: 0,
    updatedAt: 0,
  }));
  for (let from = 0; from < records; from += PAGE) {
    const length = Math.min(PAGE, records - from);
    yield Array.from({ length }, (_, place) => {
      const i = order(from + place);
      return recordAt(i, dataAt(i));
    });
  }
}
