import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Json, OpenApi } from './document.ts';

/** Validates values against schemas of the document. */
export interface Validator {
  /** Returns null, or what is wrong. @param pointer JSON pointer of a schema, such as `/components/schemas/Record` */
  faultOf(pointer: string, value: unknown): string | null;
  /** The same for a schema that may refer to components. */
  faultOfSchema(schema: Json, value: unknown): string | null;
}

/** @param isClosed whether an object may only have the fields that its schema names */
export function createValidator(document: OpenApi, isClosed: boolean): Validator {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addSchema(isClosed ? closed(document) : document, 'openapi');
  const byPointer = new Map<string, ValidateFunction>();
  const bySchema = new WeakMap<Json, ValidateFunction>();
  const fault = (validate: ValidateFunction, value: unknown): string | null =>
    validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: 'body' });
  return {
    faultOf(pointer, value) {
      const validate = byPointer.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
      byPointer.set(pointer, validate);
      return fault(validate, value);
    },
    faultOfSchema(schema, value) {
      const validate = bySchema.get(schema) ?? ajv.compile(absolute(schema));
      bySchema.set(schema, validate);
      return fault(validate, value);
    },
  };
}

/** The step of a JSON pointer (RFC 6901), as part of a URI. */
export function step(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function absolute(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/'));
}

/** Adds `additionalProperties: false` to each schema with properties: an answer has no field that it does not declare. */
function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closed) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)]));
  const isObject = copy.type === 'object' && typeof copy.properties === 'object';
  return (isObject ? { additionalProperties: false, ...copy } : copy) as T;
}
