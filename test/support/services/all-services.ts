import type { AddressSource } from '../../../src/services/geoip-files.ts';
import { makeServices, type ServiceContext } from '../../../src/services/list.ts';
import type { Places } from '../../../src/services/places/place.ts';
import type { Service } from '../../../src/services/service.ts';

const LONDON = { lat: 51.50853, lon: -0.12574, name: 'London', country: 'GB' };

/** One city. */
export const onePlace: Places = { find: (name) => (name === 'london' ? LONDON : null) };

/** A database of one address. */
export const oneAddress: AddressSource = {
  current: () => ({
    get: (address) => (address === '8.8.8.8' ? { cc: 'US' } : null),
    type: 'fake',
    builtAt: 0,
  }),
};

/** Every service over fakes: one city, one address, providers that are down. */
export function allServices(context: Partial<ServiceContext> = {}): readonly Service[] {
  return makeServices({
    places: onePlace,
    geoip: oneAddress,
    providers: { has: () => true, ask: () => ({ kind: 'down' }) },
    exchanges: () => ({ listed: new Map([['AAPL', 'XNAS']]), tag: 'test', asof: '2025-12-31' }),
    btc: false,
    ...context,
  });
}
