import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Answer, Caller, World } from '../world.ts';
import { broken, odd, valid } from './arbitraries.ts';
import { type Json, type Located, type OpenApi, type ParameterObject, resolve } from './document.ts';
import { type Fixtures, makeFixtures } from './fixtures.ts';
import type { Validator } from './validator.ts';

interface FuzzRequest {
  /** Undefined: no body. */
  readonly body: unknown;
  readonly query: Readonly<Record<string, string>>;
  readonly id: 'own' | 'unknown' | 'odd';
  readonly oddId: string;
}

export interface FuzzOptions {
  readonly document: OpenApi;
  /** The schemas of the document as clients see them. */
  readonly open: Validator;
  readonly seed: number;
  readonly runs: number;
}

/** Numbers of requests, to see that the generator reaches what it is for. */
export interface FuzzCounts {
  accepted: number;
  refused: number;
}

interface Session {
  readonly caller: Caller;
  readonly fixtures: Fixtures;
}

const ODD_IDS = ['x', '0', '%00', '..%2F..', 'null', '%F0%9F%92%A9', "1' OR '1'='1", 'a'.repeat(300)];

/**
 * Sends valid, broken and odd requests to one operation. The world refuses each answer that the document does not
 * describe; here: never 500, and what is accepted is valid by the document.
 */
export async function fuzzOperation(
  world: World,
  located: Located,
  options: FuzzOptions,
): Promise<FuzzCounts> {
  const { document, seed, runs } = options;
  const counts: FuzzCounts = { accepted: 0, refused: 0 };
  let session: Session | null = null;
  const request = requestsOf(document, located);
  await fc.assert(
    fc.asyncProperty(request, async (made) => {
      session ??= await openSession(world);
      const sent = { ...made, body: within(session.fixtures.namespace.name, made.body) };
      const answer = await send(session, located, sent);
      if (endsFixtures(located, answer)) session = null;
      check(located, sent, answer, options);
      if (answer.status < 400) counts.accepted++;
      else counts.refused++;
      assert.deepEqual(world.errors.splice(0), []);
    }),
    { seed, numRuns: runs, endOnFailure: true },
  );
  return counts;
}

/** Whether the session may have ended, or what the next request is about may be gone. */
function endsFixtures({ method, path }: Located, { status }: Answer): boolean {
  return status === 401 || (status < 400 && (method === 'DELETE' || path.startsWith('/auth/')));
}

const FOREIGN_NAMESPACE = /\.[a-z0-9-]+(?=\.v[1-9][0-9]*$)/i;

/** Moves record keys into a namespace of the customer: else no write of a record would be accepted. */
function within(namespace: string, value: unknown): unknown {
  if (typeof value === 'string') return value.replace(FOREIGN_NAMESPACE, `.${namespace}`);
  if (Array.isArray(value)) return value.map((item) => within(namespace, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, within(namespace, part)]));
}

async function openSession(world: World): Promise<Session> {
  const customer = await world.customer('enterprise');
  const caller = await world.signIn(customer);
  return { caller, fixtures: await makeFixtures(customer, caller) };
}

function requestsOf(document: OpenApi, { operation }: Located): fc.Arbitrary<FuzzRequest> {
  const schema = operation.requestBody?.content['application/json']?.schema;
  const good = schema === undefined ? fc.constant(undefined) : valid(document, schema);
  const body =
    schema === undefined
      ? good
      : fc.oneof({ weight: 3, arbitrary: good }, { weight: 3, arbitrary: broken(good) }, odd());
  // A cursor that nobody made is refused, and the rest of the query with it.
  const parameters = parametersOf(document, operation).filter(
    (parameter) => parameter.in === 'query' && parameter.name !== 'cursor',
  );
  const goodQuery = fc.record(
    Object.fromEntries(parameters.map(({ name, schema: of }) => [name, valid(document, of).map(String)])),
    { requiredKeys: [] },
  );
  const oddQuery = fc.dictionary(
    fc.oneof(
      fc.string(),
      fc.constantFrom('limit', 'cursor', 'namespace', ...parameters.map(({ name }) => name)),
    ),
    fc.string(),
    { maxKeys: 3, noNullPrototype: true },
  );
  return fc.record({
    body,
    query: fc.oneof({ weight: 3, arbitrary: goodQuery }, oddQuery) as fc.Arbitrary<FuzzRequest['query']>,
    id: fc.oneof(
      { weight: 6, arbitrary: fc.constant('own' as const) },
      fc.constant('unknown' as const),
      fc.constant('odd' as const),
    ),
    oddId: fc.constantFrom(...ODD_IDS),
  });
}

export function parametersOf(
  document: OpenApi,
  { parameters = [] }: Located['operation'],
): ParameterObject[] {
  return parameters.map((parameter) => resolve<ParameterObject>(document, parameter));
}

async function send(
  { caller, fixtures }: Session,
  { method, path }: Located,
  sent: FuzzRequest,
): Promise<Answer> {
  const { body, query, id, oddId } = sent;
  const target =
    id === 'own'
      ? fixtures.pathOf(path)
      : path.replaceAll(/\{\w+\}/g, id === 'odd' ? oddId : '0198f3a0-0000-7000-8000-000000000000');
  const search = new URLSearchParams(query).toString();
  const text = JSON.stringify(body);
  return caller.send(
    method,
    encodeURI(decodeURI(target)).replaceAll('%2525', '%25') + (search === '' ? '' : `?${search}`),
    text,
    text === undefined ? {} : { 'content-type': 'application/json' },
  );
}

function check(
  { operation }: Located,
  sent: FuzzRequest,
  answer: Answer,
  { document, open }: FuzzOptions,
): void {
  assert.ok(answer.status < 500, `${answer.status}: ${answer.text}`);
  if (answer.status >= 400) return;
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema !== undefined && sent.body !== undefined) {
    assert.equal(
      open.faultOfSchema(schema, sent.body),
      null,
      'a body that the document refuses was accepted',
    );
  }
  for (const parameter of parametersOf(document, operation)) {
    const text = parameter.in === 'query' ? sent.query[parameter.name] : undefined;
    if (text === undefined) continue;
    const { schema: of } = parameter;
    const value = isNumeric(of) ? Number(text) : asBoolean(of, text);
    assert.equal(open.faultOfSchema(of, value), null, `${parameter.name} was accepted`);
  }
}

/** The text of a truth value as that value. */
function asBoolean({ type }: Json, text: unknown): unknown {
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

function isNumeric({ type }: Json): boolean {
  return type === 'integer' || type === 'number';
}
