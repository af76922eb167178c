import { META_SCHEMA } from '../answers/meta.ts';
import type { Operation } from '../openapi/operation.ts';

export const SERVICE_OPERATIONS = {
  meta: {
    operationId: 'getMeta',
    summary: 'Zones, endpoints, limits, tiers, events and features of this server',
    tag: 'Service',
    auth: 'none',
    headers: ['If-None-Match'],
    responses: {
      200: {
        description: 'What clients need not hard-code',
        schema: META_SCHEMA,
        headers: ['ETag', 'Cache-Control'],
      },
      304: { description: 'It has one of the tags of `If-None-Match`', headers: ['ETag', 'Cache-Control'] },
    },
  },
  openapi: {
    operationId: 'getOpenApi',
    summary: 'This document',
    tag: 'Service',
    auth: 'none',
    headers: ['If-None-Match'],
    responses: {
      200: {
        description: 'An OpenAPI 3.1 document',
        schema: {
          type: 'object',
          required: ['openapi', 'info', 'paths'],
          examples: [{ openapi: '3.1.0', info: { title: 'uqrp REST API', version: '0.2.0' }, paths: {} }],
        },
        headers: ['ETag', 'Cache-Control'],
      },
      304: { description: 'It has one of the tags of `If-None-Match`', headers: ['ETag', 'Cache-Control'] },
    },
  },
} as const satisfies Readonly<Record<string, Operation>>;
