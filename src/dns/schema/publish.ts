import { PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../../protocol/names/labels.ts';
import type { Query } from '../../protocol/names/query-name.ts';
import type { Outcome } from '../../protocol/query/outcome.ts';
import { decodeParam } from '../../protocol/query/params.ts';
import { malformedAnswer } from '../../services/answers.ts';
import { type Service, serviceSchema } from '../../services/service.ts';
import { type PublicService, paramLabels, type Services } from '../query/operations.ts';
import { DIRECTORY, directoryOf, makeDirectory } from './directory.ts';
import { INFO_TTL, infoOutcome, plainOutcome, plainText } from './info.ts';

/** The resource that lists the services as text: `get.help.public.v1` and `get.services.help.public.v1`. */
const HELP = 'help';

/** The services that are enabled, each with a name to try in the zone that was asked. */
function helpText(services: readonly Service[], zone: string): string {
  const names = Object.entries(directoryOf(services, zone)).map(([resource, name]) => `${resource}: ${name}`);
  const schema = `info.SERVICE.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}.${zone}`;
  return `Public services. Ask these names for TXT. ${names.join(', ')}. Fields of a service: ${schema}`;
}

function publishHelp(services: readonly Service[]): PublicService {
  return {
    resource: HELP,
    info: (zone) => infoOutcome(describeHelp(services, zone).about.schema),
    answer({ operation, params }, _now, zone) {
      if (operation !== 'get') return malformedAnswer('operation');
      const [topic = DIRECTORY] = params;
      if (params.length > 1 || topic !== DIRECTORY) return malformedAnswer('value');
      return plainOutcome('text', helpText(services, zone));
    },
  };
}

/** The help as a service that has a schema. */
function describeHelp(services: readonly Service[], zone: string): Service {
  const example = `weather: get.london.weather.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}.${zone}`;
  return {
    resource: HELP,
    operation: 'get',
    enabled: true,
    about: {
      schema: serviceSchema({
        resource: HELP,
        title: 'Help',
        // As short as it is: the whole of it fits in the 512 octets of a client without EDNS.
        description:
          'The public services as a text, each with a query name. Of the answer, this is field d alone.',
        properties: { d: { type: 'string', description: 'The text', example } },
      }),
      template: `get.${HELP}.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}`,
      placeholders: {},
      examples: [
        `get.${HELP}.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}`,
        `get.${DIRECTORY}.${HELP}.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}`,
      ],
      exampleResponse: plainText('text', helpText(services, zone)),
      ttl: INFO_TTL,
      errors: [],
    },
    answer: () => malformedAnswer('operation'),
  };
}

const WRONG_OPERATION: Outcome = { kind: 'malformed', code: 'E002' };

/** What `dns/query` serves, by resource label. */
export function publish(services: readonly Service[]): Services {
  const published = services.map((service): PublicService => {
    const info = infoOutcome(service.about.schema);
    return {
      resource: service.resource,
      work: service.work ?? 0,
      info: () => info,
      answer: (query, now) => ask(service, query, (params) => service.answer(params, now)),
      presence: (query, now) =>
        ask(service, query, (params) => service.presence?.(params, now) ?? service.answer(params, now)),
    };
  });
  const directory: PublicService = {
    resource: DIRECTORY,
    info: (zone) => infoOutcome(directoryOf(services, zone)),
    answer: () => WRONG_OPERATION,
  };
  return new Map(
    [...published, directory, publishHelp(services)].map((service) => [service.resource, service]),
  );
}

/** All services that have a schema, the list of services and the help among them. @param zone that of the names shown */
export function described(services: readonly Service[], zone: string): readonly Service[] {
  return [...services, makeDirectory(services, zone), describeHelp(services, zone)];
}

/** Of a query the service sees its decoded parameters and nothing else. */
function ask(
  service: Service,
  query: Query,
  answer: (params: readonly string[]) => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  if (query.operation !== service.operation) return WRONG_OPERATION;
  const params: string[] = [];
  for (const label of paramLabels(query)) {
    const text = decodeParam(label);
    if (text === null) return malformedAnswer('label');
    params.push(text);
  }
  return answer(params);
}
