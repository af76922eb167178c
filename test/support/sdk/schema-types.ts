/** A JSON Schema of docs/openapi.json. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

/** The TypeScript type of a schema; a reference becomes `Schemas['Name']` */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `Schemas['${schema.$ref.split('/').at(-1)}']`;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.type === undefined && schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.length === 0) return 'unknown';
  return types.map((type) => typeNamed(type, schema)).join(' | ');
}

function typeNamed(type: string, schema: Schema): string {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type === 'array') return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (type !== 'object') throw new Error(`a schema of type ${type}`);
  const { properties = {}, required = [], additionalProperties } = schema;
  if (typeof additionalProperties === 'object')
    return `{ readonly [name: string]: ${typeOf(additionalProperties)} }`;
  const fields = Object.entries(properties).map(
    ([name, one]) => `readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(one)};`,
  );
  return `{ ${fields.join(' ')} }`;
}
