import type { NamespaceResource, Uqrp } from '../../../../sdk/src/uqrp-sdk.ts';
import { keyParts } from '../records/record-rules.ts';
import type { StoredRecord } from './plan.ts';

/** Up to so many keys are asked for one by one; more are compared with the list of their namespace. */
const SINGLY = 20;
const PAGE = 500;

/**
 * The records that stand at some keys now.
 * @param keys lower case
 * @param onRead called now and then with how many records were compared
 */
export async function storedRecords(
  api: Pick<Uqrp, 'records'>,
  namespaces: readonly NamespaceResource[],
  keys: ReadonlySet<string>,
  onRead: (records: number) => void,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, StoredRecord>> {
  const stored = new Map<string, StoredRecord>();
  if (keys.size <= SINGLY) {
    for (const key of keys) {
      const record = await api.records.find(key, { signal });
      if (record !== null) stored.set(key, { ...record, data: record.data ?? '' });
    }
    return stored;
  }
  const names = new Set([...keys].map((key) => keyParts(key).namespace));
  let read = 0;
  for (const namespace of namespaces.filter(({ name }) => names.has(name))) {
    // An export has no `updated_at`, which is the condition of the write.
    const pages = api.records.list({ namespace: namespace.name }, { limit: PAGE, signal }).pages();
    for await (const { items } of pages) {
      for (const record of items)
        if (keys.has(record.key)) stored.set(record.key, { ...record, data: record.data ?? '' });
      read += items.length;
      onRead(read);
    }
  }
  return stored;
}
