/** What the server says of its public services: their schemas, and what the schemas have no room for. */
import { readServiceDocument, type ServiceDocument } from '../../../../sdk/src/dns.ts';
import { type Resource, useResource } from '../../data/resource.ts';

/** The description of a service with the members that pages show. */
export interface ServicePage extends ServiceDocument {
  readonly schema: ServiceDocument['schema'] & {
    readonly properties: Readonly<Record<string, FieldDescription>>;
    readonly required: readonly string[];
  };
  readonly dns_format: ServiceDocument['dns_format'] & { readonly example_response: string };
  readonly error_responses: readonly {
    readonly code: string;
    readonly status: string;
    readonly description: string;
  }[];
}

export interface FieldDescription {
  readonly type: string;
  readonly description: string;
  readonly example: string | number;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** `GET /services.json` (src/http/pages/front.ts). */
export interface ServiceFacts {
  /** Names below the zone. */
  readonly examples: readonly string[];
  /** What closed values of fields mean. */
  readonly meanings: readonly {
    readonly kind?: string;
    readonly fields: readonly string[];
    readonly values: readonly (readonly [value: string, meaning: string])[];
  }[];
}

export interface ListedService {
  readonly name: string;
  readonly title: string;
  /** A full query name. */
  readonly example: string;
}

/** Milliseconds: descriptions change with the program only. */
const OPTIONS = { freshMs: 300_000 };

function readDocument(name: string, zone: string, signal: AbortSignal): Promise<ServicePage> {
  const asked = `info.${name}.public.v1.${zone}`;
  return readServiceDocument(`${location.origin}/schema`, asked, { signal }) as Promise<ServicePage>;
}

/** The services that are on. @param zone null: not known yet */
export function useServiceList(zone: string | null): Resource<readonly ListedService[]> {
  return useResource(
    zone === null ? null : `service list ${zone}`,
    async (signal) => {
      const { schema } = await readDocument('services', zone ?? '', signal);
      return Object.entries(schema.properties).map(([name, { description, example }]) => ({
        name,
        title: description,
        example: String(example),
      }));
    },
    OPTIONS,
  );
}

/** A service, also one that is off. @param zone null: not known yet */
export function useServicePage(name: string, zone: string | null): Resource<ServicePage> {
  return useResource(
    zone === null ? null : `service page ${name} ${zone}`,
    (signal) => readDocument(name, zone ?? '', signal),
    OPTIONS,
  );
}

/** By service. */
export function useServiceFacts(): Resource<Readonly<Record<string, ServiceFacts>>> {
  return useResource(
    'service facts',
    async (signal) => {
      const response = await fetch('/services.json', { signal });
      return (await response.json()) as Readonly<Record<string, ServiceFacts>>;
    },
    OPTIONS,
  );
}
