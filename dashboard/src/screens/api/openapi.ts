/** What of an OpenAPI document the reference shows. The server makes the document, and its tests validate it. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Referable {
  readonly $ref?: string;
}

export interface Parameter extends Referable {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface ResponseObject extends Referable {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
}

interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly description?: string;
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface OpenApi {
  readonly info: { readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface Content {
  readonly type: string;
  readonly schema: Schema | null;
  readonly example: unknown;
}

export interface OperationAnswer {
  readonly status: string;
  readonly description: string;
  readonly content: Content | null;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Operation {
  readonly id: string;
  readonly method: Method;
  /** Below `/api/v1`, such as `/records/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: (Content & { readonly description: string; readonly isRequired: boolean }) | null;
  readonly answers: readonly OperationAnswer[];
  /** Names of security schemes of which one is enough; none: for everyone. */
  readonly credentials: readonly string[];
}

export interface OperationGroup {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** The operations by their first tag, in the order of the document. */
export function operationGroups(document: OpenApi): readonly OperationGroup[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, object]) => ({
      tag: object.tags[0],
      operation: operationOf(document, method.toUpperCase() as Method, path, object),
    })),
  );
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    operations: all.filter(({ tag }) => tag === name).map(({ operation }) => operation),
  }));
}

function operationOf(document: OpenApi, method: Method, path: string, object: OperationObject): Operation {
  const { operationId, summary, description = '', parameters = [], requestBody, security = [] } = object;
  const body = contentOf(requestBody?.content);
  return {
    id: operationId,
    method,
    path,
    summary,
    description,
    parameters: parameters.map((one) => resolved(document, one)),
    body:
      body === null
        ? null
        : {
            ...body,
            description: requestBody?.description ?? '',
            isRequired: requestBody?.required === true,
          },
    answers: Object.entries(object.responses).map(([status, one]) => {
      const response = resolved(document, one);
      return { status, description: response.description, content: contentOf(response.content) };
    }),
    credentials: security.flatMap((one) => Object.keys(one)),
  };
}

function contentOf(content: Readonly<Record<string, Media>> = {}): Content | null {
  const [first] = Object.entries(content);
  if (first === undefined) return null;
  const [type, { schema = null, example }] = first;
  return { type, schema, example };
}

/** What a reference within the document stands for; anything else is itself. */
export function resolved<T extends { readonly $ref?: string }>(document: OpenApi, value: T): T {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref ?? '') ?? [];
  const target = document.components[kind]?.[name] as T | undefined;
  return target === undefined ? value : { ...target, ...withoutRef(value) };
}

/** A description beside a reference counts. */
function withoutRef<T extends { readonly $ref?: string }>(value: T): Partial<T> {
  const { $ref: _ref, ...rest } = value;
  return rest as unknown as Partial<T>;
}

/** Answers that many operations share, such as 401: shown once. */
export function commonAnswers(operations: readonly Operation[]): readonly OperationAnswer[] {
  const counts = new Map<string, { readonly answer: OperationAnswer; count: number }>();
  for (const answer of operations.flatMap(({ answers }) => answers)) {
    const key = commonKey(answer);
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { answer, count: 1 });
    else known.count += 1;
  }
  return [...counts.values()]
    .filter(({ answer, count }) => answer.status >= '400' && count >= operations.length / 3)
    .map(({ answer }) => answer)
    .sort((a, b) => a.status.localeCompare(b.status));
}

export function commonKey({ status, description }: OperationAnswer): string {
  return `${status} ${description}`;
}
