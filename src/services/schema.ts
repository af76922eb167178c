import { BRAND } from '../base/brand.ts';

/** JSON Schema of one field; `example` is an addition of this project. */
export interface FieldSchema {
  readonly type: 'string' | 'number' | 'integer';
  readonly description: string;
  readonly example: string | number;
  readonly enum?: readonly (string | number)[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

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
  /** Sources of the data with their licences; appended to the description. */
  readonly attribution?: readonly string[];
  /** In the order of an answer. */
  readonly properties: Readonly<Record<string, FieldSchema>>;
  /** Fields that an answer may omit. */
  readonly optional?: readonly string[];
}

/** Makes the schema. It must stay below 3,450 bytes of JSON, because `info` sends it as one TXT record. */
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
