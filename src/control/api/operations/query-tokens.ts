import { arrayOf } from '../../../core/input/schema.ts';
import { LIMITS } from '../../../core/limits.ts';
import { MINT, MINTED_TOKEN_SCHEMA, QUERY_TOKEN_SCHEMA } from '../../namespaces/query-tokens.ts';
import { madeResponse, type Operation } from '../openapi/operation.ts';

const tag = 'Query tokens';
const auth = 'credential';

export const QUERY_TOKEN_OPERATIONS = {
  list: {
    operationId: 'listQueryTokens',
    summary: 'Lists the query tokens of a namespace, oldest first',
    description: 'Without plaintext. Ended tokens stay listed for at least 30 days.',
    tag,
    auth,
    responses: { 200: { description: 'The query tokens', schema: arrayOf(QUERY_TOKEN_SCHEMA) } },
    errors: [400],
  },
  create: {
    operationId: 'createQueryToken',
    summary: 'Mints a query token',
    description: `The plaintext is in this answer only. A member of an organization who is no owner mints for at most ${LIMITS.queryTokenDaysOfMember} days.`,
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: MINT.schema,
    responses: madeResponse(MINTED_TOKEN_SCHEMA, 'The query token with its plaintext', ['X-Service-Seq']),
  },
  revoke: {
    operationId: 'revokeQueryToken',
    summary: 'Revokes a query token',
    description: 'DNS nodes refuse it within seconds. Revoking twice is no error.',
    tag,
    auth,
    responses: { 204: { description: 'Revoked', headers: ['X-Service-Seq'] } },
  },
} as const satisfies Readonly<Record<string, Operation>>;
