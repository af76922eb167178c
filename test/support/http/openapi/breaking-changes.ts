/** Differences between two OpenAPI documents that break a client of the older one. */

type Json = Readonly<Record<string, unknown>>;

interface Document extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** What the service sends. */
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

type Changes = Generator<string, void>;

/** One line for each change, in the order of the older document. Empty: clients of it go on working. */
export function breakingChanges(before: Document, after: Document): readonly string[] {
  return [...documentChanges(resolved(before, before) as Document, resolved(after, after) as Document)];
}

function* documentChanges(before: Document, after: Document): Changes {
  for (const [path, item] of Object.entries(before.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method.toUpperCase()} ${path}`;
      const next = after.paths[path]?.[method];
      if (next === undefined) yield `${at}: the operation is gone`;
      else yield* operationChanges(operation, next, at);
    }
  }
  for (const [event, { post }] of Object.entries(before.webhooks ?? {})) {
    const at = `webhook ${event}`;
    const next = after.webhooks?.[event]?.post;
    if (next === undefined) yield `${at}: the event is gone`;
    // Receivers read the body, as clients read an answer.
    else yield* mediaChanges(part(post, 'requestBody'), part(next, 'requestBody'), at, answerChanges);
  }
}

function* operationChanges(before: Json, after: Json, at: string): Changes {
  const responses = part(after, 'responses');
  for (const [status, was] of Object.entries(part(before, 'responses'))) {
    if (responses[status] === undefined) yield `${at}: status ${status} is gone`;
    else yield* mediaChanges(was, responses[status], `${at} ${status}`, answerChanges);
  }
  const [old, body] = [part(before, 'requestBody'), part(after, 'requestBody')];
  if (body.required === true && old.required !== true) yield `${at}: a body is required`;
  yield* mediaChanges(old, body, `${at} body`, requestChanges);
  yield* parameterChanges(before, after, at);
  if (accessOf(before).some((scheme) => !accessOf(after).includes(scheme)))
    yield `${at}: a kind of credential is no longer enough`;
}

function* mediaChanges(before: unknown, after: unknown, at: string, changes: typeof answerChanges): Changes {
  const content = part(after, 'content');
  for (const [type, media] of Object.entries(part(before, 'content'))) {
    if (content[type] === undefined) yield `${at}: the media type ${type} is gone`;
    else yield* changes(part(media, 'schema'), part(content[type], 'schema'), at);
  }
}

/** What a client reads: no field may go or become optional, no type may be added. New values are for the reader to pass over. */
function* answerChanges(before: Json, after: Json, at: string): Changes {
  yield* typeChanges(after, before, at);
  const fields = part(after, 'properties');
  for (const [name, field] of Object.entries(part(before, 'properties'))) {
    const place = `${at} .${name}`;
    if (fields[name] === undefined) yield `${place}: the field is gone`;
    else {
      if (requires(before, name) && !requires(after, name)) yield `${place}: no longer always there`;
      yield* answerChanges(field as Json, part(fields, name), place);
    }
  }
  if (before.items !== undefined)
    yield* answerChanges(part(before, 'items'), part(after, 'items'), `${at} []`);
}

/** What a client sends: no field may go or become required, no value or type may be refused that was taken. */
function* requestChanges(before: Json, after: Json, at: string): Changes {
  yield* typeChanges(before, after, at);
  yield* boundChanges(before, after, at);
  const fields = part(after, 'properties');
  for (const name of Object.keys(fields)) {
    if (requires(after, name) && !requires(before, name)) yield `${at} .${name}: the field is required`;
  }
  for (const [name, field] of Object.entries(part(before, 'properties'))) {
    const place = `${at} .${name}`;
    if (fields[name] === undefined) yield `${place}: the field is gone`;
    else yield* requestChanges(field as Json, part(fields, name), place);
  }
  if (before.items !== undefined)
    yield* requestChanges(part(before, 'items'), part(after, 'items'), `${at} []`);
}

function* parameterChanges(before: Json, after: Json, at: string): Changes {
  const table = ({ parameters }: Json): ReadonlyMap<string, Json> =>
    new Map(
      (list(parameters) as Json[]).map((one) => [`${String(one.in)} parameter ${String(one.name)}`, one]),
    );
  const [old, next] = [table(before), table(after)];
  for (const [name, parameter] of old) {
    const now = next.get(name);
    if (now === undefined) yield `${at}: the ${name} is gone`;
    else yield* requestChanges(part(parameter, 'schema'), part(now, 'schema'), `${at} ${name}`);
  }
  for (const [name, { required }] of next) {
    if (required === true && old.get(name)?.required !== true) yield `${at}: the ${name} is required`;
  }
}

/** Types and enumerated values of `before` must all be in `after`. */
function* typeChanges(before: Json, after: Json, at: string): Changes {
  for (const keyword of ['type', 'enum']) {
    const [was, allowed] = [before[keyword], after[keyword]];
    if (allowed === undefined) continue;
    const gone = list(was).filter((value) => !list(allowed).includes(value));
    if (was === undefined || gone.length > 0)
      yield `${at}: ${keyword} is narrower: ${gone.join(', ') || 'new'}`;
  }
}

function* boundChanges(before: Json, after: Json, at: string): Changes {
  for (const keyword of ['maximum', 'maxLength', 'maxItems', 'minimum', 'minLength', 'minItems']) {
    const [was, is] = [before[keyword], after[keyword]];
    if (typeof is !== 'number') continue;
    if (typeof was !== 'number' || (keyword.startsWith('max') ? is < was : is > was))
      yield `${at}: ${keyword} is narrower`;
  }
}

/** Credentials by name; `none` for an operation without one, which also takes every credential. */
function accessOf({ security }: Json): readonly string[] {
  const schemes = list(security);
  return schemes.length === 0
    ? ['none', 'customerToken', 'browserSession', 'apiKey']
    : schemes.flatMap((one) => Object.keys(one as Json));
}

function requires({ required }: Json, name: string): boolean {
  return list(required).includes(name);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

/** A member; an empty object when there is none. */
function part(value: unknown, name: string): Json {
  return ((value as Json)[name] as Json | undefined) ?? {};
}

/** The value with what its references name in their place. */
function resolved(value: unknown, root: Json): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => resolved(one, root));
  const { $ref } = value as Json;
  if (typeof $ref === 'string') {
    const steps = $ref.slice('#/'.length).split('/');
    return resolved(
      steps.reduce<unknown>((at, step) => (at as Json)[step], root),
      root,
    );
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolved(member, root)]));
}
