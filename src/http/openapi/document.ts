import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { HEX_SECRET, type Schema, UUID } from '../../protocol/input/schema.ts';
import { RECORD_KEY_SCHEMA } from '../../protocol/names/record-key.ts';
import { type DeliveryEvent, WEBHOOK_EVENTS } from '../../protocol/webhooks.ts';
import {
  type FailureStatus,
  failureRef,
  headerRef,
  parameterRef,
  type SharedComponents,
  sharedComponents,
} from './components.ts';
import { type Auth, type Operation, type ResponseDescription, TAGS } from './operation.ts';

/** A value for the schema, made from the first example of each of its parts. Undefined: there is none. */
export function exampleOf(schema: Schema): unknown {
  const { examples, enum: values, properties, items, default: fallback } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ('const' in schema) return schema.const;
  if (isSchema(properties)) return exampleObject(properties, asList(schema.required));
  if (isSchema(items)) return asList([exampleOf(items)]).filter((item) => item !== undefined);
  if (fallback !== undefined) return fallback;
  if (Array.isArray(values)) return values[0];
  const choice = asList(schema.anyOf ?? schema.oneOf)[0];
  return isSchema(choice) ? exampleOf(choice) : exampleOfType(schema);
}

/** For a type without more rules. Others need `examples`. */
const OF_TYPE: Readonly<Record<string, unknown>> = {
  string: 'text',
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
  object: {},
};

function exampleOfType({ type, minimum }: Schema): unknown {
  if (typeof minimum === 'number') return minimum;
  return typeof type === 'string' ? OF_TYPE[type] : undefined;
}

/** Optional fields are there when they have an example of their own. */
function exampleObject(
  properties: Readonly<Record<string, unknown>>,
  required: readonly unknown[],
): Readonly<Record<string, unknown>> {
  const shown = Object.entries(properties).flatMap(([name, property]) => {
    if (!isSchema(property) || !(required.includes(name) || hasExample(property))) return [];
    return [[name, exampleOf(property)] as const];
  });
  return Object.fromEntries(shown);
}

function hasExample(schema: Schema): boolean {
  return Array.isArray(schema.examples) || isSchema(schema.properties) || isSchema(schema.items);
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const EVENT_ABOUT: Readonly<Record<DeliveryEvent, string>> = {
  ...WEBHOOK_EVENTS,
  'webhook.test': 'You asked for a test of the webhook',
};

const OUTCOMES = {
  '2XX': { description: 'The delivery has succeeded' },
  '3XX': { description: 'The attempt has failed: redirects are not followed' },
  '4XX': { description: 'The attempt has failed, and is repeated later' },
  '5XX': { description: 'The attempt has failed, and is repeated later' },
} as const;

/** What the service sends to endpoints of customers. @param hoist makes a reference of a schema with a title */
function webhookSection(
  deliveries: DocumentInfo['deliveries'],
  hoist: (schema: Schema) => Schema,
): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    Object.entries(deliveries).map(([event, schema]) => [
      event,
      { post: deliveryObject(event as DeliveryEvent, schema, hoist) },
    ]),
  );
}

function deliveryObject(event: DeliveryEvent, schema: Schema, hoist: (schema: Schema) => Schema): Schema {
  return {
    operationId: operationIdOf(event),
    summary: EVENT_ABOUT[event],
    description: `Answer within ${LIMITS.webhookDeadlineMs / 1000} seconds. Verify the signature before anything else: docs/WEBHOOKS.md.`,
    tags: ['Webhooks' satisfies keyof typeof TAGS],
    // The signature is the only proof of the sender.
    security: [],
    parameters: [
      header('X-Service-Signature', 't=<unix time>,v1=<HMAC-SHA256 of "<t>.<body>" by the signing secret>', {
        type: 'string',
        examples: [`t=1767225600,v1=${HEX_SECRET.examples[0]}`],
      }),
      header('X-Service-Event', 'Name of the event. It is not signed: the body has it too', {
        type: 'string',
        const: event,
      }),
      header('X-Service-Delivery', 'Id of the delivery, the same at every attempt', UUID),
    ],
    requestBody: {
      description: `At most ${LIMITS.webhookBody} octets`,
      required: true,
      content: { 'application/json': { schema: hoist(schema), example: exampleOf(schema) } },
    },
    responses: OUTCOMES,
  };
}

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'header', required: true, description, schema };
}

/** `onRecordUpserted` for `record.upserted`. */
function operationIdOf(event: DeliveryEvent): string {
  return `on${event.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
}

/** A registered route: its path below the prefix of the API, such as `/records/:id`. */
export interface DescribedRoute {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

interface DocumentInfo {
  /** URL of the API, without a trailing slash. */
  readonly server: string;
  readonly version: string;
  /** Letters of the longest key of a record under the zones of this server. */
  readonly recordKeyMax: number;
  /** The body of a delivery of each event. */
  readonly deliveries: Readonly<Record<DeliveryEvent, Schema>>;
}

const ABOUT = `Small records, written over REST and read over DNS. Guide: docs/API.md.

- Every path with GET takes HEAD too: the same headers without a body. Another method is 405 with \`Allow\`; an unknown path is 404.
- Every failure has a JSON body with \`code\`. Nothing is coerced, and an unknown field or query parameter is refused by its name.
- ${LIMITS.authenticatedPerMinute} requests a minute for each customer, ${LIMITS.unauthenticatedPerMinute} for each address without a valid credential; ${LIMITS.writesPerMinute} writes a minute and ${LIMITS.writesPerHour} an hour for each customer.
- A body has at most ${LIMITS.requestBody} octets where the operation does not say otherwise.
- \`GET /meta\` has the limits of this server.`;

/** The OpenAPI 3.1 document of the routes. @throws Error for an operationId, or a title of a schema, that is used twice */
export function openApiDocument(
  routes: readonly DescribedRoute[],
  { server, version, recordKeyMax, deliveries }: DocumentInfo,
): Schema {
  const schemas = new Map<string, Schema>();
  const originals = new Map<string, Schema>();
  const key = { ...RECORD_KEY_SCHEMA, maxLength: recordKeyMax };
  const hoist = (schema: Schema): Schema => hoistTitled(schema, schemas, originals, key);
  const paths: Record<string, Record<string, Schema>> = {};
  const ids = new Set<string>();
  for (const { method, path, operation } of routes) {
    if (ids.has(operation.operationId)) throw new Error(`two operations are named ${operation.operationId}`);
    ids.add(operation.operationId);
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    paths[template] = {
      ...paths[template],
      [method.toLowerCase()]: operationObject(method, path, operation, hoist),
    };
  }
  const components = usedComponents(sharedComponents(hoist), paths);
  const webhooks = webhookSection(deliveries, hoist);
  const used = new Set(routes.map(({ operation }) => operation.tag));
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'uqrp REST API',
      version,
      description: ABOUT,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name as keyof typeof TAGS))
      .map(([name, description]) => ({ name, description })),
    paths: sorted(paths),
    webhooks,
    components: { ...components, schemas: sorted(Object.fromEntries(schemas)) },
  };
}

/** Headers and parameters that nothing refers to are left out. */
function usedComponents({ headers, parameters, ...rest }: SharedComponents, paths: unknown): Schema {
  const text = JSON.stringify([paths, rest]);
  const used = (kind: string, table: Schema): Schema =>
    Object.fromEntries(
      Object.entries(table).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
    );
  return { headers: used('headers', headers), parameters: used('parameters', parameters), ...rest };
}

/** Of a dataset: the one path parameter that is no UUID. */
const SLUG = { type: 'string', examples: ['gtin-demo'] } as const;
const SESSION = [{ customerToken: [] }, { browserSession: [] }] as const;

const SECURITY: Readonly<Record<Auth, readonly Schema[]>> = {
  none: [],
  session: SESSION,
  credential: [...SESSION, { apiKey: [] }],
};

function operationObject(
  method: string,
  path: string,
  operation: Operation,
  hoist: (schema: Schema) => Schema,
): Schema {
  const {
    operationId,
    summary,
    description,
    tag,
    auth,
    request,
    responses,
    query = {},
    headers = [],
  } = operation;
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const parameters = [
    ...ids.map((name) => ({ name, in: 'path', required: true, schema: name === 'slug' ? SLUG : UUID })),
    ...Object.entries(query).map(([name, { required = false, schema, description: text }]) => ({
      name,
      in: 'query',
      required,
      description: text,
      schema,
    })),
    ...headers.map(parameterRef),
  ];
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    security: SECURITY[auth],
    ...(parameters.length > 0 && { parameters }),
    ...(request !== undefined && { requestBody: requestBody(request, operation.bodyLimit, hoist) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, responseObject(response, hoist)]),
      ),
      ...Object.fromEntries(
        failuresOf(method, operation, ids.length > 0).map((status) => [status, failureRef(status)]),
      ),
    },
  };
}

function requestBody(
  request: NonNullable<Operation['request']>,
  limit: number | undefined,
  hoist: (schema: Schema) => Schema,
): Schema {
  if (request === 'empty') {
    const schema = { type: 'object', maxProperties: 0 };
    return {
      description: 'None, or an empty object',
      required: false,
      content: { 'application/json': { schema, example: {} } },
    };
  }
  return {
    description: `At most ${limit ?? LIMITS.requestBody} octets`,
    required: true,
    content: { 'application/json': { schema: hoist(request), example: exampleOf(request) } },
  };
}

function responseObject(response: ResponseDescription, hoist: (schema: Schema) => Schema): Schema {
  const { description, schema, contentType = 'application/json', headers = [] } = response;
  const example = schema === undefined ? undefined : exampleOf(schema);
  return {
    description,
    headers: Object.fromEntries(['X-Request-Id', ...headers].map((name) => [name, headerRef(name)])),
    ...(schema !== undefined && {
      content: { [contentType]: { schema: hoist(schema), ...(example !== undefined && { example }) } },
    }),
  };
}

/** The refusals that the operation names, and those that follow from its credential, body and path. Ascending. */
function failuresOf(method: string, operation: Operation, hasIds: boolean): readonly FailureStatus[] {
  const { auth, request, headers = [], query, errors = [] } = operation;
  const failures = new Set<FailureStatus>([400, 408, 429, 431, 500, ...errors]);
  if (auth !== 'none') failures.add(401).add(403);
  if (hasIds) failures.add(404);
  // A body is read also where the operation has none.
  if (method !== 'GET') failures.add(413).add(415);
  if (request !== undefined) failures.add(422);
  if (headers.includes('Idempotency-Key')) failures.add(422);
  if (query !== undefined) failures.add(400);
  return [...failures].sort((a, b) => a - b);
}

/** Replaces each object schema that has a title by a reference to a component of that name. @param key for that of a record's key */
function hoistTitled(
  value: Schema,
  schemas: Map<string, Schema>,
  originals: Map<string, Schema>,
  key: Schema,
): Schema {
  const walk = (part: unknown): unknown => {
    if (part === RECORD_KEY_SCHEMA) return key;
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part !== 'object' || part === null) return part;
    const copy = Object.fromEntries(
      Object.entries(part).map(([name, inner]) => [name, isData(name) ? inner : walk(inner)]),
    );
    const { title } = part as Schema;
    if (typeof title !== 'string' || copy.type !== 'object') return copy;
    const known = originals.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, part))
      throw new Error(`two schemas are named ${title}`);
    originals.set(title, part as Schema);
    const { title: _, ...schema } = copy;
    schemas.set(title, schema);
    return { $ref: `#/components/schemas/${title}` };
  };
  return walk(value) as Schema;
}

/** Keywords whose value is data, not a schema. */
function isData(keyword: string): boolean {
  return keyword === 'examples' || keyword === 'default' || keyword === 'const' || keyword === 'enum';
}

function sorted<T>(object: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The routes that are registered from here on. A HEAD is part of its GET.
 * @throws Error from the registration of a route without a description, which ends the start
 */
export function collectRoutes(api: FastifyInstance): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  api.addHook('onRoute', ({ method: methods, routePath: path, config }) => {
    for (const method of [methods].flat()) {
      if (method === 'HEAD') continue;
      if (config?.operation === undefined) {
        throw new Error(`the route ${method} ${path} has no description: see openapi/operation.ts`);
      }
      routes.push({ method, path, operation: config.operation });
    }
  });
  return routes;
}
