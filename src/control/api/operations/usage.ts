import { PROPAGATION_PARAMETERS, PROPAGATION_SCHEMA } from '../../propagation/propagation.ts';
import { USAGE_SCHEMA } from '../../usage/usage.ts';
import type { Operation } from '../openapi/operation.ts';

export const USAGE_OPERATIONS = {
  get: {
    operationId: 'getUsage',
    summary: 'Reads what is used, and the private reads of this month',
    description:
      'An API key with `scopes.namespaces` sees only what it reaches. `soft_cap_state` is there where the operator has switched billing on. Nothing is refused by these counts.',
    tag: 'Usage',
    auth: 'credential',
    responses: { 200: { description: 'The usage', schema: USAGE_SCHEMA } },
    errors: [400],
  },
  propagation: {
    operationId: 'getPropagation',
    summary: 'Tells which DNS nodes have applied a write',
    description:
      'A node of another process tells how far it is every five seconds; the node in this process is always known. `ms` is known for that one.',
    tag: 'Usage',
    auth: 'credential',
    query: PROPAGATION_PARAMETERS,
    responses: { 200: { description: 'Every node', schema: PROPAGATION_SCHEMA } },
    errors: [400],
  },
} as const satisfies Readonly<Record<string, Operation>>;
