/** Differences between two OpenAPI documents that break a client of the older one. */

type Json = Readonly<Record<string, unknown>>;

interface Document extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** What the service sends. */
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/** A part of both documents, with its place for the message. */
interface Pair {
  readonly before: unknown;
  readonly after: unknown;
}

/** One line for each change, in the order of the older document. Empty: clients of it go on working. */
export function breakingChanges(before: Document, after: Document): readonly string[] {
  const found: string[] = [];
  for (const [path, item] of Object.entries(before.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method.toUpperCase()} ${path}`;
      const next = after.paths[path]?.[method];
      if (next === undefined) found.push(`${at}: the operation is gone`);
      else compareOperation({ before: operation, after: next }, at, { before, after }, found);
    }
  }
  for (const [event, item] of Object.entries(before.webhooks ?? {})) {
    const at = `webhook ${event}`;
    const next = after.webhooks?.[event];
    if (next === undefined) found.push(`${at}: the event is gone`);
    else compareWebhook({ before: item, after: next }, at, { before, after }, found);
  }
  return found;
}

/** Receivers read the body, as clients read an answer. */
function compareWebhook(pair: Pair, at: string, roots: Pair, found: string[]): void {
  const bodyOf = (item: unknown, root: unknown): Json =>
    member(member(item, 'post', root), 'requestBody', root);
  const bodies = { before: bodyOf(pair.before, roots.before), after: bodyOf(pair.after, roots.after) };
  compareMedia(bodies, at, roots, found, compareAnswer);
}

function compareOperation(pair: Pair, at: string, roots: Pair, found: string[]): void {
  const old = member(pair.before, 'responses', roots.before);
  const responses = member(pair.after, 'responses', roots.after);
  for (const status of Object.keys(old)) {
    const [was, is] = [member(old, status, roots.before), member(responses, status, roots.after)];
    if (responses[status] === undefined) found.push(`${at}: status ${status} is gone`);
    else compareMedia({ before: was, after: is }, `${at} ${status}`, roots, found, compareAnswer);
  }
  const bodies = {
    before: member(pair.before, 'requestBody', roots.before),
    after: member(pair.after, 'requestBody', roots.after),
  };
  if (bodies.after.required === true && bodies.before.required !== true)
    found.push(`${at}: a body is required`);
  compareMedia(bodies, `${at} body`, roots, found, compareRequest);
  compareParameters(pair, at, roots, found);
  if (accessOf(pair.before).some((scheme) => !accessOf(pair.after).includes(scheme))) {
    found.push(`${at}: a kind of credential is no longer enough`);
  }
}

function compareMedia(
  pair: Pair,
  at: string,
  roots: Pair,
  found: string[],
  compare: typeof compareAnswer,
): void {
  const after = member(pair.after, 'content', roots.after);
  for (const [type, media] of Object.entries(member(pair.before, 'content', roots.before))) {
    if (after[type] === undefined) found.push(`${at}: the media type ${type} is gone`);
    else {
      const schemas = {
        before: member(media, 'schema', roots.before),
        after: member(after[type], 'schema', roots.after),
      };
      compare(schemas, at, roots, found);
    }
  }
}

/** What a client reads: no field may go or become optional, no type may be added. New values are for the reader to pass over. */
function compareAnswer(pair: Pair, at: string, roots: Pair, found: string[]): void {
  compareTypes({ before: pair.after, after: pair.before }, at, found);
  const after = member(pair.after, 'properties', roots.after);
  for (const [name, field] of Object.entries(member(pair.before, 'properties', roots.before))) {
    const place = `${at} .${name}`;
    if (after[name] === undefined) found.push(`${place}: the field is gone`);
    else {
      if (requires(pair.before, name) && !requires(pair.after, name))
        found.push(`${place}: no longer always there`);
      compareAnswer(resolved({ before: field, after: after[name] }, roots), place, roots, found);
    }
  }
  compareItems(pair, at, roots, found, compareAnswer);
}

/** What a client sends: no field may go or become required, no value or type may be refused that was taken. */
function compareRequest(pair: Pair, at: string, roots: Pair, found: string[]): void {
  compareTypes(pair, at, found);
  compareBounds(pair, at, found);
  const old = member(pair.before, 'properties', roots.before);
  const after = member(pair.after, 'properties', roots.after);
  for (const name of Object.keys(after)) {
    if (requires(pair.after, name) && !requires(pair.before, name))
      found.push(`${at} .${name}: the field is required`);
  }
  for (const [name, field] of Object.entries(old)) {
    const place = `${at} .${name}`;
    if (after[name] === undefined) found.push(`${place}: the field is gone`);
    else compareRequest(resolved({ before: field, after: after[name] }, roots), place, roots, found);
  }
  compareItems(pair, at, roots, found, compareRequest);
}

function compareParameters(pair: Pair, at: string, roots: Pair, found: string[]): void {
  const table = (operation: unknown, root: unknown): ReadonlyMap<string, Json> =>
    new Map(
      list((operation as Json).parameters)
        .map((one) => resolve(one, root))
        .map((one) => [`${String(one.in)} parameter ${String(one.name)}`, one]),
    );
  const old = table(pair.before, roots.before);
  const next = table(pair.after, roots.after);
  for (const [name, parameter] of old) {
    const after = next.get(name);
    if (after === undefined) found.push(`${at}: the ${name} is gone`);
    else
      compareRequest(
        resolved({ before: parameter.schema, after: after.schema }, roots),
        `${at} ${name}`,
        roots,
        found,
      );
  }
  for (const [name, { required }] of next) {
    if (required === true && old.get(name)?.required !== true) found.push(`${at}: the ${name} is required`);
  }
}

/** Types and enumerated values of `before` must all be in `after`. */
function compareTypes({ before, after }: Pair, at: string, found: string[]): void {
  for (const keyword of ['type', 'enum']) {
    const allowed = (after as Json)[keyword];
    if (allowed === undefined) continue;
    const was = (before as Json)[keyword];
    const gone = list(was).filter((value) => !list(allowed).includes(value));
    if (was === undefined || gone.length > 0)
      found.push(`${at}: ${keyword} is narrower: ${gone.join(', ') || 'new'}`);
  }
}

const BOUNDS = [
  ['maximum', 1],
  ['maxLength', 1],
  ['maxItems', 1],
  ['minimum', -1],
  ['minLength', -1],
  ['minItems', -1],
] as const;

function compareBounds({ before, after }: Pair, at: string, found: string[]): void {
  for (const [keyword, sign] of BOUNDS) {
    const [was, is] = [(before as Json)[keyword], (after as Json)[keyword]];
    if (typeof is !== 'number') continue;
    if (typeof was !== 'number' || is * sign < was * sign) found.push(`${at}: ${keyword} is narrower`);
  }
}

function compareItems(
  pair: Pair,
  at: string,
  roots: Pair,
  found: string[],
  compare: typeof compareAnswer,
): void {
  const items = {
    before: member(pair.before, 'items', roots.before),
    after: member(pair.after, 'items', roots.after),
  };
  if (Object.keys(items.before).length > 0) compare(items, `${at} []`, roots, found);
}

/** Credentials by name; `none` for an operation without one, which also takes every credential. */
function accessOf(operation: unknown): readonly string[] {
  const security = list((operation as Json).security);
  return security.length === 0
    ? ['none', 'customerToken', 'browserSession', 'apiKey']
    : security.flatMap((one) => Object.keys(one as Json));
}

function requires(schema: unknown, name: string): boolean {
  return list((schema as Json).required).includes(name);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function resolved({ before, after }: Pair, roots: Pair): Pair {
  return { before: resolve(before, roots.before), after: resolve(after, roots.after) };
}

/** A member with its reference followed; an empty object when there is none. */
function member(value: unknown, name: string, root: unknown): Json {
  return resolve((value as Json)[name] ?? {}, root);
}

function resolve(value: unknown, root: unknown): Json {
  const reference = (value as Json).$ref;
  if (typeof reference !== 'string') return value as Json;
  return resolve(
    reference
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>((part, step) => (part as Json)[step], root),
    root,
  );
}
