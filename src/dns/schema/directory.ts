import { malformedAnswer } from '../../services/answers.ts';
import { type Service, serviceSchema } from '../../services/service.ts';
import { INFO_TTL } from './info.ts';

/** The resource that lists the others. */
export const DIRECTORY = 'services';

/** Each service that is enabled, with a query name to try. */
export function directoryOf(services: readonly Service[], zone: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    services
      .filter(({ enabled }) => enabled)
      .map(({ resource, about }) => [resource, `${about.examples[0]}.${zone}`]),
  );
}

/** The list as a service, so that it has a schema too. It answers `info` only. */
export function makeDirectory(services: readonly Service[], zone: string): Service {
  const names = directoryOf(services, zone);
  const properties = Object.fromEntries(
    services
      .filter(({ enabled }) => enabled)
      .map(({ resource, about }) => [
        resource,
        { type: 'string' as const, description: about.schema.title, example: names[resource]! },
      ]),
  );
  return {
    resource: DIRECTORY,
    operation: 'get',
    enabled: true,
    about: {
      schema: serviceSchema({
        resource: DIRECTORY,
        title: 'Public services',
        description:
          'The public services of this server, each with a query name that it answers. The fields are those of the JSON object in d, not of the answer around it.',
        properties,
      }),
      template: `info.${DIRECTORY}.public.v1`,
      placeholders: {},
      examples: [`info.${DIRECTORY}.public.v1`],
      exampleResponse: `v=svc1;s=ok;t=data;e=plain;f=json;ttl=${INFO_TTL};d=${JSON.stringify(names)}`,
      ttl: INFO_TTL,
      errors: [],
    },
    answer: () => malformedAnswer('operation'),
  };
}
