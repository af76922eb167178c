import type { PublicService } from '../../src/dns/query/operations.ts';
import { publish } from '../../src/dns/schema/publish.ts';
import type { Places } from '../../src/services/places/place.ts';
import { openPlaces } from '../../src/services/places/table.ts';
import { allServices } from '../support/services/all-services.ts';

let places: Places | null = null;

/** The public services with the packaged places, one known address (8.8.8.8), and no provider. */
export function scenarioServices(settings: { readonly btc: boolean }): readonly PublicService[] {
  places ??= openPlaces();
  const providers = { has: () => false, ask: () => ({ kind: 'off' as const }) };
  return [...publish(allServices({ places, providers, btc: settings.btc })).values()];
}
