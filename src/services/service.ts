import { BRAND } from '../base/brand.ts';
import type { EnvelopeErrorCode } from '../protocol/query/envelope.ts';
import type { Outcome } from '../protocol/query/outcome.ts';

/** A public service. It gets labels and time only, so no answer can depend on the client. */
export interface Service {
  /** Selects the service: `get.<params>.<resource>.public.v1`. */
  readonly resource: string;
  /** `info` is answered by `dns/schema`. */
  readonly operation: 'get' | 'geoip';
  /** A disabled service answers E013 and is missing from the list of services. */
  readonly enabled: boolean;
  readonly about: ServiceDescription;
  /** Signatures that take about as long as computing an answer: it is paid from their budget. Default 0: much less than one. */
  readonly work?: number;
  /**
   * `params`: labels before the resource, decoded, so with any character; for `geoip` the `ip-` label. `now`: milliseconds since the epoch.
   * Returns `malformed` for labels outside the grammar. If it throws or rejects, the reply is SERVFAIL.
   */
  answer(params: readonly string[], now: number): Outcome | Promise<Outcome>;
  /** As `answer`, without a call to a provider: where only a provider knows the text, an answer with an empty one. Absent: `answer` calls none. */
  presence?(params: readonly string[], now: number): Outcome;
}

/** Source of `info`, `GET /schema` and docs/services. */
export interface ServiceDescription {
  /** Fields of an answer, without those of every envelope (`v s t e f ttl ts`). */
  readonly schema: ServiceSchema;
  /** Name below the zone, such as `get.{location}.weather.public.v1`. */
  readonly template: string;
  readonly placeholders: Readonly<Record<string, Placeholder>>;
  /** Valid names below the zone, the most useful one first. */
  readonly examples: readonly [string, ...string[]];
  /** A possible TXT value for the first example. */
  readonly exampleResponse: string;
  /** Longest RR TTL of an answer, seconds. */
  readonly ttl: number;
  readonly errors: readonly ServiceError[];
  /** What closed values mean, for pages: the schema has no room for words. */
  readonly meanings?: readonly Meanings[];
}

export interface Meanings {
  /** Where a field has several kinds of values, which go with values of the same kind alone: such as units of length. */
  readonly kind?: string;
  /** Fields with these values. */
  readonly fields: readonly string[];
  /** A value may be a range, such as `4-9`. */
  readonly values: readonly (readonly [value: string, meaning: string])[];
}

export interface Placeholder {
  readonly type: string;
  readonly examples: readonly string[];
}

export interface ServiceError {
  readonly code: EnvelopeErrorCode;
  readonly description: string;
  /** Seconds, as an example; with E010 only. */
  readonly retryAfter?: number;
}

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
