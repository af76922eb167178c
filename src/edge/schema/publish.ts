import type { Outcome } from '../../core/query/outcome.ts';
import { decodeParam } from '../../core/query/params.ts';
import type { Query } from '../../core/query/query.ts';
import { paramLabels, type Services } from '../query/operations/operations.ts';
import type { PublicService } from '../query/operations/public-service.ts';
import { malformed } from '../services/answers.ts';
import type { Service } from '../services/service.ts';
import { DIRECTORY, directoryOf, makeDirectory } from './directory.ts';
import { describeHelp, publishHelp } from './help.ts';
import { infoOutcome } from './info.ts';

const WRONG_OPERATION: Outcome = { kind: 'malformed', code: 'E002' };

/** What `edge/query` serves, by resource label. */
export function publish(services: readonly Service[]): Services {
  const published = services.map((service): PublicService => {
    const info = infoOutcome(service.about.schema);
    return {
      resource: service.resource,
      work: service.work ?? 0,
      info: () => info,
      answer: (query, now) => ask(service, query, now),
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
function ask(service: Service, query: Query, now: number): Outcome | Promise<Outcome> {
  if (query.operation !== service.operation) return WRONG_OPERATION;
  const params: string[] = [];
  for (const label of paramLabels(query)) {
    const text = decodeParam(label);
    if (text === null) return malformed('label');
    params.push(text);
  }
  return service.answer(params, now);
}
