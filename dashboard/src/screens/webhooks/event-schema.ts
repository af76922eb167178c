/** What the OpenAPI document of the server says about the bodies of webhooks. */

export interface EventBody {
  readonly name: string;
  readonly summary: string;
  readonly sample: unknown;
  readonly fields: readonly EventField[];
}

export interface EventField {
  /** `data.key`. */
  readonly path: string;
  readonly type: string;
  readonly description: string;
  readonly isRequired: boolean;
}

type Schema = Readonly<Record<string, unknown>>;

/** Bodies by event. Parts that are not as expected are left out: the document may be of a later version. */
export function eventBodies(document: unknown): readonly EventBody[] {
  const webhooks = at(document, 'webhooks');
  if (!isObject(webhooks)) return [];
  return Object.entries(webhooks).map(([name, item]) => {
    const post = at(item, 'post');
    const content = at(at(at(post, 'requestBody'), 'content'), 'application/json');
    return {
      name,
      summary: text(at(post, 'summary')),
      sample: at(content, 'example'),
      fields: fieldsOf(document, at(content, 'schema'), '', 0),
    };
  });
}

/** Levels of members that are shown: a body has two. */
const DEPTH_MAX = 4;

function fieldsOf(document: unknown, given: unknown, path: string, depth: number): EventField[] {
  const schema = resolve(document, given);
  const properties = at(schema, 'properties');
  if (!isObject(properties) || depth > DEPTH_MAX) return [];
  const required = at(schema, 'required');
  return Object.entries(properties).flatMap(([name, member]) => {
    const inner = resolve(document, member);
    const own = `${path}${name}`;
    const field: EventField = {
      path: own,
      type: typeOf(inner),
      description: text(at(member, 'description')) || text(at(inner, 'description')),
      isRequired: Array.isArray(required) && required.includes(name),
    };
    return [field, ...fieldsOf(document, inner, `${own}.`, depth + 1)];
  });
}

function typeOf(schema: Schema): string {
  if ('const' in schema) return JSON.stringify(schema.const);
  const types = Array.isArray(schema.type) ? schema.type.join(' | ') : text(schema.type);
  const format = text(schema.format) || text(schema.contentEncoding);
  return format === '' ? types : `${types} (${format})`;
}

/** Follows `$ref` within the document. */
function resolve(document: unknown, schema: unknown): Schema {
  const ref = text(at(schema, '$ref'));
  if (!ref.startsWith('#/')) return isObject(schema) ? schema : {};
  const found = ref.slice(2).split('/').reduce(at, document);
  return isObject(found) ? found : {};
}

function at(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
