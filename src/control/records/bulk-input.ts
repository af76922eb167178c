import { invalid } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { Faults, type JsonObject } from '../../protocol/input/fields.ts';
import { arrayOf, resourceSchema, type Schema, UUID } from '../../protocol/input/schema.ts';
import { optional, type Reader, shape } from '../../protocol/input/shape.ts';
import { parseRecordKey, RECORD_KEY_SCHEMA, type RecordKey } from '../../protocol/names/record-key.ts';
import { NEW_RECORD, type NewRecord, type RecordContext, readNewRecord } from './input.ts';

/** No key occurs twice. */
export interface Bulk {
  readonly records: readonly NewRecord[];
  readonly delete: readonly RecordKey[];
}

/** Ids in the order of the request; null: there was nothing to delete. */
export interface BulkResult {
  readonly records: readonly { readonly id: string; readonly key: string }[];
  readonly deleted: readonly (string | null)[];
}

const BULK_RECORD_SCHEMA = resourceSchema<BulkResult['records'][number]>('BulkRecord', {
  id: UUID,
  key: { type: 'string', examples: ['greeting.acme.v1'] },
});

export const BULK_RESULT_SCHEMA = resourceSchema<BulkResult>('BulkResult', {
  records: arrayOf(BULK_RECORD_SCHEMA),
  deleted: arrayOf(
    { ...UUID, type: ['string', 'null'] },
    { description: 'null: there was nothing to delete' },
  ),
});

/** The items are read one by one, so that a fault has the index of its item. */
function itemsOf(items: Schema, description: string): Reader<readonly unknown[]> {
  return {
    schema: arrayOf(items, { maxItems: LIMITS.bulkItems, description }),
    read: (fields, name) => fields.list(name, LIMITS.bulkItems),
  };
}

export const BULK = shape(
  'BulkWrite',
  {
    records: optional(itemsOf(NEW_RECORD.schema, 'Stored, or replaced by key')),
    delete: optional(itemsOf(RECORD_KEY_SCHEMA, 'Keys. One that does not exist is no error')),
  },
  { rules: { anyOf: ['records', 'delete'].map(atLeastOneIn) } },
);

function atLeastOneIn(name: string): Schema {
  return { properties: { [name]: { minItems: 1 } }, required: [name] };
}

/** @throws AppError 422 with every fault, each with the index of its item */
export function parseBulk(body: JsonObject, context: RecordContext): Bulk {
  const faults = new Faults();
  const { records = [], delete: keys = [] } = BULK.read(body, undefined, faults);
  const items = records.length + keys.length;
  if (!faults.any && (items === 0 || items > LIMITS.bulkItems)) {
    faults.add(`records and delete must have 1 to ${LIMITS.bulkItems} items together`);
  }
  if (faults.any) throw invalid(...faults.messages);

  const seen = new Set<string>();
  const unique = <T extends RecordKey>(item: T | null, path: string): T[] => {
    if (item === null) return [];
    if (seen.has(item.key)) faults.add(`${path} occurs twice`);
    seen.add(item.key);
    return [item];
  };
  const bulk: Bulk = {
    records: records.flatMap((item, i) => {
      const at = `records[${i}]`;
      return unique(readNewRecord(item, context, faults, at), `${at}.key`);
    }),
    delete: keys.flatMap((item, i) => unique(readKey(item, context, faults, `delete[${i}]`), `delete[${i}]`)),
  };
  if (faults.any) throw invalid(...faults.messages);
  return bulk;
}

function readKey(item: unknown, { zoneLength }: RecordContext, faults: Faults, at: string): RecordKey | null {
  const key = typeof item === 'string' ? parseRecordKey(item, zoneLength) : 'key must be a string';
  if (typeof key !== 'string') return key;
  faults.add(key.replace(/^key/, at));
  return null;
}
