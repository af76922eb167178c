import { type OpenApi, resolved, type Schema } from './openapi.ts';

/** A row of the table of a body. */
export interface Field {
  /** `record.key`, `records[].data`. */
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

/** Levels of a body that are shown. */
const DEPTH_MAX = 4;

/** The members of an object, and of the objects in it, each after the one that holds it. */
export function fieldsOf(document: OpenApi, schema: Schema, prefix = '', depth = 0): readonly Field[] {
  const { properties, required = [], items } = resolved(document, schema);
  if (items !== undefined) return fieldsOf(document, items, `${prefix.replace(/\.$/, '')}[].`, depth);
  if (properties === undefined || depth >= DEPTH_MAX) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    const inner = resolved(document, property);
    const field: Field = {
      name: prefix + name,
      type: typeText(document, property),
      isRequired: required.includes(name),
      description: inner.description ?? '',
    };
    return [field, ...fieldsOf(document, inner, `${prefix}${name}.`, depth + 1)];
  });
}

/** A type in words: `string or null, date-time`, `array of string, at most 10`, `"read" or "write"`. */
export function typeText(document: OpenApi, schema: Schema): string {
  const own = resolved(document, schema);
  return [kindText(document, own), ...limitsOf(own)].join(', ');
}

function kindText(document: OpenApi, own: Schema): string {
  if (own.const !== undefined) return JSON.stringify(own.const);
  if (own.enum !== undefined) return own.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (own.anyOf !== undefined) return own.anyOf.map((one) => typeText(document, one)).join(' or ');
  const types = typeof own.type === 'string' ? [own.type] : (own.type ?? ['any']);
  return types
    .map((type) =>
      type === 'array' && own.items !== undefined ? `array of ${typeText(document, own.items)}` : type,
    )
    .join(' or ');
}

function limitsOf(own: Schema): readonly string[] {
  const { minimum, maximum, maxLength, maxItems } = own;
  const limits = [own.format, own.contentEncoding];
  if (minimum !== undefined && maximum !== undefined) limits.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) limits.push(`at least ${minimum}`);
  else if (maximum !== undefined) limits.push(`at most ${maximum}`);
  if (maxLength !== undefined) limits.push(`at most ${maxLength} characters`);
  if (maxItems !== undefined) limits.push(`at most ${maxItems}`);
  if (own.default !== undefined) limits.push(`default ${JSON.stringify(own.default)}`);
  return limits.filter((one) => one !== undefined);
}
