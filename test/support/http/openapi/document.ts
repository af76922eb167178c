/** The parts of an OpenAPI 3.1 document that the tests read. */
export type Json = Readonly<Record<string, unknown>>;

export interface Media {
  readonly schema: Json;
  readonly example?: unknown;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Json>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Json;
}

export interface OperationObject {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (ParameterObject | { readonly $ref: string })[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
}

export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/** An operation with its method and path template. */
export interface Located {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

export function operationsOf({ paths }: Pick<OpenApi, 'paths'>): readonly Located[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Follows a reference inside the document. */
export function resolve<T>(document: OpenApi, value: T | { readonly $ref: string }): T {
  if (typeof value !== 'object' || value === null || !('$ref' in value) || typeof value.$ref !== 'string') {
    return value as T;
  }
  const steps = value.$ref.slice('#/'.length).split('/');
  return resolve(
    document,
    steps.reduce<unknown>((part, step) => (part as Json)[step.replaceAll('~1', '/')], document) as T,
  );
}
