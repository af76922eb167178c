import { arrayOf } from '../../../core/input/schema.ts';
import { enveloped } from '../../../core/input/shape.ts';
import { LIMITS } from '../../../core/limits.ts';
import { BULK, BULK_RESULT_SCHEMA } from '../../records/bulk-input.ts';
import { EXPORTED_RECORD_SCHEMA } from '../../records/export.ts';
import { NEW_RECORD, RECORD_PATCH } from '../../records/input.ts';
import { LISTING_PARAMETERS } from '../../records/listing-query.ts';
import { RECORD_SCHEMA, SHOWN_RECORD_SCHEMA } from '../../records/record.ts';
import { DELETED_FROM_DNS, type Operation } from '../openapi/operation.ts';

const tag = 'Records';
const auth = 'credential';
const ONE = {
  description: 'The record. Without `data` for an API key that lacks `read`',
  schema: SHOWN_RECORD_SCHEMA,
  headers: ['ETag'],
} as const;

export const RECORD_OPERATIONS = {
  list: {
    operationId: 'listRecords',
    summary: 'Lists records',
    description: `Ordered by namespace name, then by \`created_at\`. Without \`limit\` and \`cursor\` it is everything, streamed; with either it is a page, and \`Link\` with \`rel="next"\` leads to the next one. A person may read ${LIMITS.listingsPerCustomer} listings without \`limit\` and ${LIMITS.pagesPerCustomer} pages of more than ${LIMITS.listingPage} octets at once, in all organizations together; a page that is smaller is never refused for this. When the server has no place left, the one who reads most gives way first. The server closes the connection of a reader that takes nothing for ${LIMITS.listingIdleMs / 1000} s: such an array has no closing bracket.`,
    tag,
    auth,
    query: LISTING_PARAMETERS,
    responses: {
      200: {
        description: 'The records that the credential reaches',
        schema: arrayOf(RECORD_SCHEMA),
        headers: ['Link'],
      },
    },
  },
  export: {
    operationId: 'exportRecords',
    summary: 'Exports the records of a namespace as JSON lines',
    description: `One record a line, in the form that \`uqrp import\` and a bulk write take. It counts as a listing without \`limit\`. The answer is chunked: one that was cut off ends without the last chunk, which HTTP clients report as an error. A whole one has the trailer \`X-Record-Count\` with the number of lines.`,
    tag: 'Namespaces',
    auth,
    responses: {
      200: {
        description: 'JSON lines of `ExportedRecord`',
        schema: EXPORTED_RECORD_SCHEMA,
        contentType: 'application/x-ndjson',
        headers: ['Trailer', 'Content-Disposition'],
      },
    },
  },
  get: {
    operationId: 'getRecord',
    summary: 'Reads a record',
    tag,
    auth,
    headers: ['If-None-Match'],
    responses: {
      200: { description: 'The record', schema: RECORD_SCHEMA, headers: ['ETag'] },
      304: { description: 'The record has one of the tags of `If-None-Match`', headers: ['ETag'] },
    },
  },
  create: {
    operationId: 'createRecord',
    summary: 'Creates a record',
    description:
      'The namespace must exist and be yours. A key that is taken is 422 `Key has already been taken`, or 412 with `If-None-Match: *`.',
    tag,
    auth,
    headers: ['Idempotency-Key', 'If-None-Match'],
    request: enveloped('record', NEW_RECORD.schema),
    responses: { 201: { ...ONE, headers: ['Location', 'ETag', 'X-Service-Seq'] } },
    errors: [412],
  },
  bulk: {
    operationId: 'writeRecords',
    summary: 'Writes and deletes up to 500 records in one unit',
    description:
      'All of them or none, and one write against the limits. A key that exists is replaced as a whole. Faults name their place: `records[3].data is not strict Base64`.',
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: BULK.schema,
    bodyLimit: LIMITS.bulkBody,
    responses: {
      200: {
        description: 'Ids in the order of the request',
        schema: BULK_RESULT_SCHEMA,
        headers: ['X-Service-Seq'],
      },
    },
  },
  update: {
    operationId: 'updateRecord',
    summary: 'Changes a record',
    description: 'Only what is given changes. `updated_at` and `ETag` always advance.',
    tag,
    auth,
    headers: ['If-Match'],
    request: enveloped('record', RECORD_PATCH.schema),
    responses: { 200: { ...ONE, headers: ['ETag', 'X-Service-Seq'] } },
    errors: [412],
  },
  delete: {
    operationId: 'deleteRecord',
    summary: 'Deletes a record for good',
    tag,
    auth,
    headers: ['If-Match'],
    responses: DELETED_FROM_DNS,
    errors: [412],
  },
} as const satisfies Readonly<Record<string, Operation>>;
