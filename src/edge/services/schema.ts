import { BRAND } from '../../core/brand.ts';

/** One field of an answer. `example` is an addition of this project; the rest is JSON Schema. */
export interface FieldSchema {
  readonly type: 'string' | 'number' | 'integer';
  readonly description: string;
  readonly example: string | number;
  readonly enum?: readonly (string | number)[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** JSON Schema, draft 2020-12, of the fields of an answer. */
export interface ServiceSchema {
  readonly $schema: 'https://json-schema.org/draft/2020-12/schema';
  readonly $id: string;
  readonly title: string;
  readonly description: string;
  readonly type: 'object';
  readonly additionalProperties: false;
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
}

interface SchemaParts {
  readonly resource: string;
  readonly title: string;
  /** One or two sentences, ASCII. */
  readonly description: string;
  /** Sources of the data with their licences; they become part of the description. */
  readonly attribution?: readonly string[];
  /** In the order of an answer. */
  readonly properties: Readonly<Record<string, FieldSchema>>;
  /** Fields that an answer may lack. */
  readonly optional?: readonly string[];
}

/** The schema of a service. It must stay below 3,450 bytes of JSON, because `info` sends it as one TXT record. */
export function serviceSchema(parts: SchemaParts): ServiceSchema {
  const { resource, title, description, attribution = [], properties, optional = [] } = parts;
  const credit = attribution.length === 0 ? '' : ` Data: ${attribution.join('; ')}.`;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:${BRAND}:schema:public:${resource}:v1`,
    title,
    description: `${description}${credit}`,
    type: 'object',
    additionalProperties: false,
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  };
}
