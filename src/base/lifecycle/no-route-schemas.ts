import type { FastifyServerOptions } from 'fastify';

/**
 * Option of Fastify for a server whose routes have no `schema`. Without compilers of its own Fastify loads its default ones, Ajv and
 * fast-json-stringify: 120 modules and 3 MB for each process. A route with a schema makes `ready` throw.
 */
export const NO_ROUTE_SCHEMAS = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
} as const satisfies FastifyServerOptions['schemaController'];

function refuse(): never {
  throw new Error('a route has a schema, but this server has no schema compilers');
}
