import { arrayOf } from '../../../core/input/schema.ts';
import { enveloped } from '../../../core/input/shape.ts';
import { NAMESPACE_PATCH, NAMESPACE_SCHEMA, NEW_NAMESPACE } from '../../namespaces/namespaces.ts';
import { createdResponse, DELETED_FROM_DNS, type Operation } from '../openapi/operation.ts';

const tag = 'Namespaces';
const auth = 'credential';

export const NAMESPACE_OPERATIONS = {
  list: {
    operationId: 'listNamespaces',
    summary: 'Lists namespaces by name',
    tag,
    auth,
    responses: {
      200: { description: 'The namespaces that the credential reaches', schema: arrayOf(NAMESPACE_SCHEMA) },
    },
    errors: [400],
  },
  get: {
    operationId: 'getNamespace',
    summary: 'Reads a namespace',
    tag,
    auth,
    responses: { 200: { description: 'The namespace', schema: NAMESPACE_SCHEMA } },
  },
  create: {
    operationId: 'createNamespace',
    summary: 'Creates a namespace',
    description:
      'Names are unique among all customers, and some are reserved. Not for an API key with `scopes.namespaces`: 403.',
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: enveloped('namespace', NEW_NAMESPACE.schema),
    responses: createdResponse(NAMESPACE_SCHEMA, 'The namespace', ['X-Service-Seq']),
  },
  update: {
    operationId: 'updateNamespace',
    summary: 'Changes how long caches may keep open answers of a namespace',
    description:
      'Of use where everyone may read the namespace: answers of a private namespace always have TTL 0.',
    tag,
    auth,
    request: enveloped('namespace', NAMESPACE_PATCH.schema),
    responses: {
      200: { description: 'The namespace', schema: NAMESPACE_SCHEMA, headers: ['X-Service-Seq'] },
    },
  },
  delete: {
    operationId: 'deleteNamespace',
    summary: 'Deletes a namespace with its records and query tokens',
    description:
      'Reads in it are refused at once. Records and tokens go in the background; the name is free when the last is gone. Not for an API key with `scopes.namespaces`: 403.',
    tag,
    auth,
    responses: DELETED_FROM_DNS,
  },
} as const satisfies Readonly<Record<string, Operation>>;
