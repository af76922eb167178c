/** The body and the answer of a bulk write. */
import { invalid } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { NOT_A_TIME, parseTime, TIMESTAMP } from '../../base/time.ts';
import { Faults, isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { arrayOf, resourceSchema, type Schema, UUID } from '../../protocol/input/schema.ts';
import { optional, type Reader, required, shape } from '../../protocol/input/shape.ts';
import { parseRecordKey, RECORD_KEY_SCHEMA, type RecordKey } from '../../protocol/names/record-key.ts';
import {
  NEW_RECORD_FIELDS,
  type NewRecord,
  newRecord,
  ONE_EXPIRY,
  RECORD_KEY,
  type RecordContext,
} from './shapes.ts';

/** The `updated_at` that a record of a bulk write must have; null: there must be none. Absent: whatever is there. */
const IF_UPDATED_AT: Reader<number | null> = {
  schema: {
    type: ['string', 'null'],
    pattern: TIMESTAMP.source,
    description:
      'Condition: the `updated_at` that the record has now. null: there must be no such record. Else nothing is written: 412',
  },
  read(fields, name) {
    if (fields.isNull(name)) return null;
    const text = fields.text(name);
    const time = text === undefined ? undefined : parseTime(text);
    if (time === null) fields.fault(name, NOT_A_TIME);
    return time ?? undefined;
  },
};

/** What a bulk write asks of a record before it is written or deleted. */
interface HasCondition {
  readonly ifUpdatedAt: number | null | undefined;
}

const BULK_RECORD = shape(
  'NewBulkRecord',
  { ...NEW_RECORD_FIELDS, if_updated_at: optional(IF_UPDATED_AT) },
  { rules: ONE_EXPIRY },
);

const BULK_DELETION = shape('BulkDeletion', {
  key: required(RECORD_KEY),
  if_updated_at: required(IF_UPDATED_AT),
});

/** Adds every fault of a record to `faults`. @param at as for `Fields` */
function readBulkRecord(
  body: unknown,
  context: RecordContext,
  faults: Faults,
  at: string,
): (NewRecord & HasCondition) | null {
  if (!isJsonObject(body)) {
    faults.add(`${at} must be an object`);
    return null;
  }
  const values = BULK_RECORD.readWhole(body, context, faults, at);
  return values && { ...newRecord(values), ifUpdatedAt: values.if_updated_at };
}

/** No key occurs twice. */
export interface Bulk {
  readonly records: readonly (NewRecord & HasCondition)[];
  readonly delete: readonly (RecordKey & HasCondition)[];
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
    records: optional(itemsOf(BULK_RECORD.schema, 'Stored, or replaced by key')),
    delete: optional(
      itemsOf(
        { anyOf: [RECORD_KEY_SCHEMA, BULK_DELETION.schema] },
        'Keys. One that does not exist is no error, unless a condition says that it does',
      ),
    ),
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
      return unique(readBulkRecord(item, context, faults, at), `${at}.key`);
    }),
    delete: keys.flatMap((item, i) =>
      unique(readDeletion(item, context, faults, `delete[${i}]`), `delete[${i}]`),
    ),
  };
  if (faults.any) throw invalid(...faults.messages);
  return bulk;
}

function readDeletion(
  item: unknown,
  context: RecordContext,
  faults: Faults,
  at: string,
): (RecordKey & HasCondition) | null {
  if (isJsonObject(item)) {
    const values = BULK_DELETION.readWhole(item, context, faults, at);
    return values && { ...values.key, ifUpdatedAt: values.if_updated_at };
  }
  const key = typeof item === 'string' ? parseRecordKey(item, context.zoneLength) : 'key must be a string';
  if (typeof key !== 'string') return { ...key, ifUpdatedAt: undefined };
  faults.add(key.replace(/^key/, at));
  return null;
}
