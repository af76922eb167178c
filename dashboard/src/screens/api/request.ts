import type { RequestParts } from '../../../../sdk/src/uqrp-sdk.ts';
import type { Method, Operation } from './openapi.ts';

/** What is typed into the form of an operation. */
export interface FormValues {
  /** By the name of the parameter; '' is left out of the request. */
  readonly parameters: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

/** A request, for the client and for the code to copy. */
export interface PlannedRequest {
  readonly method: Method;
  /** Below `/api/v1`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; undefined: none. */
  readonly body: unknown;
}

/** What keeps a form from being sent: names of parameters that are missing, and what JSON.parse says of the body. */
export interface FormFaults {
  readonly missing: readonly string[];
  readonly body: string | null;
}

/** The form at first: the example of the body. */
export function firstValues({ body }: Operation): FormValues {
  return { parameters: {}, body: body === null ? '' : jsonText(body.example ?? {}) };
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Whether the request changes something. */
export function isWrite({ method }: Pick<Operation, 'method'>): boolean {
  return method !== 'GET';
}

export function faultsOf(operation: Operation, values: FormValues): FormFaults | null {
  const missing = operation.parameters
    .filter(({ name, required }) => required === true && !values.parameters[name])
    .map(({ name }) => name);
  const parsed = parseBody(operation, values.body);
  if (missing.length === 0 && parsed.fault === null) return null;
  return { missing, body: parsed.fault };
}

/** The request of a form. Parts of the path that are missing keep their names, a body that is no JSON is left out. */
export function plannedRequest(operation: Operation, values: FormValues): PlannedRequest {
  const given = operation.parameters
    .map(({ name, in: place }) => ({ name, place, value: values.parameters[name] ?? '' }))
    .filter(({ value }) => value !== '');
  const members = (wanted: string): Record<string, string> =>
    Object.fromEntries(given.filter(({ place }) => place === wanted).map(({ name, value }) => [name, value]));
  const path = operation.path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values.parameters[name];
    return value ? encodeURIComponent(value) : whole;
  });
  return {
    method: operation.method,
    path,
    query: members('query'),
    headers: members('header'),
    body: parseBody(operation, values.body).value,
  };
}

function parseBody({ body }: Operation, text: string): { value: unknown; fault: string | null } {
  if (body === null || (!body.isRequired && text.trim() === '')) return { value: undefined, fault: null };
  try {
    return { value: JSON.parse(text), fault: null };
  } catch (error) {
    return { value: undefined, fault: error instanceof Error ? error.message : String(error) };
  }
}

/** For the client. It makes an Idempotency-Key where the operation takes one and the form gives none. */
export function requestParts(operation: Operation, planned: PlannedRequest): RequestParts {
  const takesKey = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
  const { 'Idempotency-Key': idempotencyKey, ...headers } = planned.headers;
  return { ...planned, headers, idempotencyKey, isKeyless: !takesKey };
}
