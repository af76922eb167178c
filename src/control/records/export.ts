import { resourceSchema } from '../../protocol/input/schema.ts';
import type { Actor } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { streamRecords } from './list.ts';
import { RECORD_SCHEMA, type RecordResource } from './record.ts';

/** A line of an export, in the form that `uqrp import` and a bulk write take. */
type ExportedRecord = Pick<RecordResource, 'key' | 'data' | 'content_type' | 'ttl_seconds' | 'expires_at'>;

export const EXPORTED_RECORD_SCHEMA = resourceSchema<ExportedRecord>('ExportedRecord', {
  key: RECORD_SCHEMA.properties.key,
  data: RECORD_SCHEMA.properties.data,
  content_type: RECORD_SCHEMA.properties.content_type,
  ttl_seconds: RECORD_SCHEMA.properties.ttl_seconds,
  expires_at: RECORD_SCHEMA.properties.expires_at,
});

function exportedRecord(record: RecordResource): ExportedRecord {
  const { key, data, content_type, ttl_seconds, expires_at } = record;
  return { key, data, content_type, ttl_seconds, expires_at };
}

/** Every record of a namespace, in batches that are read when the consumer asks for them. */
export async function* exportRecords(
  deps: HasStore & HasClock,
  actor: Actor,
  namespace: string,
): AsyncGenerator<readonly ExportedRecord[]> {
  for await (const batch of streamRecords(deps, actor, { namespace })) yield batch.map(exportedRecord);
}
