import { type ExchangeOptions, getText } from './doh.ts';
import { Unavailable } from './errors.ts';

/** The description of a public service, as `GET /schema` gives it (docs/SERVICES.md). The server may add fields. */
export interface ServiceDocument {
  readonly resource: string;
  readonly schema: {
    readonly title: string;
    readonly description: string;
    readonly properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
  };
  readonly meta: { readonly default_ttl: number };
  readonly dns_format: {
    /** `get.{location}.weather.public.v1.uqrp.net`. */
    readonly query_template: string;
    /** By the name in the template. */
    readonly placeholders: Readonly<
      Record<
        string,
        {
          readonly type: string;
          readonly examples: readonly string[];
        }
      >
    >;
  };
}

/**
 * The description of one service.
 * @param url such as `https://uqrp.example.net/schema`
 * @param name `info.<service>.public.v1.<zone>`
 * @throws Unavailable when there is none
 */
export async function readServiceDocument(
  url: string,
  name: string,
  options: Omit<ExchangeOptions, 'method'> = {},
): Promise<ServiceDocument> {
  const text = await getText(`${url}?${new URLSearchParams({ q: name }).toString()}`, options);
  try {
    return JSON.parse(text) as ServiceDocument;
  } catch {
    throw new Unavailable('not a service description');
  }
}
