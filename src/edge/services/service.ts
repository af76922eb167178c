import type { EnvelopeErrorCode } from '../../core/errors.ts';
import type { Outcome } from '../../core/query/outcome.ts';
import type { ServiceSchema } from './schema.ts';

/**
 * A public service: a function from the labels of a query to an outcome. It gets the labels and the time and nothing else, so no
 * answer can depend on the client.
 */
export interface Service {
  /** The label that selects it: `get.<params>.<resource>.public.v1`. */
  readonly resource: string;
  /** The operation that it answers. `info` is answered by `edge/schema`. */
  readonly operation: 'get' | 'geoip';
  /** A disabled service answers E013 to everything, and is missing from the list of services. */
  readonly enabled: boolean;
  readonly about: ServiceDescription;
  /**
   * @param params the labels before the resource, in their order, `b32-`, `hex-` and `b64-` decoded to text (so any
   *   character may occur, capitals too); for `geoip` the one label that holds the address, with its `ip-`
   * @param now milliseconds since the epoch
   * @returns `malformed` for a label outside the grammar of the service
   * @throws anything, or rejects: the reply is then SERVFAIL
   */
  answer(params: readonly string[], now: number): Outcome | Promise<Outcome>;
}

/** Source of `info`, `GET /schema` and docs/SERVICES.md. */
export interface ServiceDescription {
  /** The fields of an answer, less those of every envelope (`v s t e f ttl ts`). */
  readonly schema: ServiceSchema;
  /** The name below the zone with `{placeholders}`, such as `get.{location}.weather.public.v1`. */
  readonly template: string;
  readonly placeholders: Readonly<Record<string, Placeholder>>;
  /** Names below the zone that answer, the most useful one first. */
  readonly examples: readonly [string, ...string[]];
  /** The TXT value that the first example might get. */
  readonly exampleResponse: string;
  /** RR TTL of an answer at its longest, seconds. */
  readonly ttl: number;
  readonly errors: readonly ServiceError[];
}

export interface Placeholder {
  readonly type: string;
  readonly examples: readonly string[];
}

/** An error envelope that the service may answer with. */
export interface ServiceError {
  readonly code: EnvelopeErrorCode;
  readonly description: string;
  /** Seconds, as an example; with E010 alone. */
  readonly retryAfter?: number;
}
