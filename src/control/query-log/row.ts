import { TRANSPORTS, type Transport } from '../../base/network/transport.ts';
import { formatTime } from '../../base/time.ts';
import { rcodeName, rrtypeName } from '../../protocol/dns/codes.ts';
import { resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { OPERATIONS, type QueryOperation } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import type { StoredRow } from '../../store/query-log/block.ts';

/** A query as the API shows it. No field holds the name that was asked, its parameters, the token or the address. */
export interface QueryLogResource {
  readonly id: string;
  readonly timestamp: string;
  readonly namespace: string;
  readonly resource: string | null;
  readonly version: string | null;
  readonly operation: QueryOperation;
  readonly qtype: string;
  readonly status: QueryStatus;
  readonly rcode: string;
  readonly transport: Transport;
  readonly node: string;
  readonly duration_ms: number;
}

const LABEL = { type: ['string', 'null'], description: 'null where the status is refused or error' } as const;

export const QUERY_LOG_SCHEMA = resourceSchema<QueryLogResource>('QueryLogRow', {
  id: { type: 'string', description: 'Ascends with time of arrival', examples: ['3607772528640001'] },
  timestamp: TIME,
  namespace: { type: 'string', examples: ['acme'] },
  resource: { ...LABEL, examples: ['flags'] },
  version: { ...LABEL, examples: ['v1'] },
  operation: { type: 'string', enum: OPERATIONS },
  qtype: { type: 'string', description: 'Mnemonic, or TYPE65280 where there is none', examples: ['TXT'] },
  status: {
    type: 'string',
    enum: QUERY_STATUSES,
    description: 'Answered with data; empty; empty because the record has expired; failed; refused',
  },
  rcode: { type: 'string', description: 'Mnemonic, or RCODE99 where there is none', examples: ['NOERROR'] },
  transport: { type: 'string', enum: TRANSPORTS, description: 'DoH queries are not recorded' },
  node: { type: 'string', description: 'The node that answered', examples: ['fra1'] },
  duration_ms: { type: 'integer', minimum: 0, description: '0 from the cache of a node', examples: [0] },
});

/** What a row belongs to: its block has only the number of a series. */
interface SeriesNames {
  readonly namespace: string;
  readonly status: QueryStatus;
}

export function queryLogResource(row: StoredRow, { namespace, status }: SeriesNames): QueryLogResource {
  return {
    id: String(row.id),
    timestamp: formatTime(row.at),
    namespace,
    resource: row.resource,
    version: row.version,
    operation: row.operation,
    qtype: rrtypeName(row.qtype),
    status,
    rcode: rcodeName(row.rcode),
    transport: row.transport,
    node: row.node,
    duration_ms: row.duration_ms,
  };
}
