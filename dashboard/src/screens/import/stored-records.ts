import type { ExportedRecord, NamespaceResource, Uqrp } from '../../../../sdk/src/uqrp-sdk.ts';
import { keyParts } from '../records/record-rules.ts';

/** Up to so many keys are asked for one by one; more are compared with an export of their namespace. */
const SINGLY = 20;

/**
 * The records that stand at some keys now.
 * @param keys lower case
 * @param onRead called now and then with how many records were compared
 */
export async function storedRecords(
  api: Pick<Uqrp, 'records' | 'namespaces'>,
  namespaces: readonly NamespaceResource[],
  keys: ReadonlySet<string>,
  onRead: (records: number) => void,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ExportedRecord>> {
  const stored = new Map<string, ExportedRecord>();
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
    for await (const record of api.namespaces.export(namespace.id, { signal })) {
      if (keys.has(record.key)) stored.set(record.key, record);
      read += 1;
      if (read % 500 === 0) onRead(read);
    }
  }
  return stored;
}
