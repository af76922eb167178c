import { formatAddress, isGlobalUnicast, parseAddress } from '../../../core/network/address.ts';
import { answered, malformed, notEnabled, notFound } from '../answers.ts';
import type { Service } from '../service.ts';
import type { AddressSource } from './files.ts';
import { parseIpLabel } from './ip-label.ts';
import { GEOIP_ABOUT } from './schema.ts';

const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** `geoip.ip-<ip>.public.v1` */
export function makeGeoip(source: AddressSource): Service {
  return {
    resource: 'geoip',
    operation: 'geoip',
    enabled: true,
    about: GEOIP_ABOUT,
    answer(params, now) {
      const [label] = params;
      const text = label === undefined || params.length > 1 ? null : parseIpLabel(label);
      const address = text === null ? null : parseAddress(text);
      if (address === null) return malformed('address');
      // Private, loopback, documentation, multicast: no location, even if the database has one.
      if (!isGlobalUnicast(address)) return notFound(now);
      const database = source.current();
      if (database === null) return notEnabled(now);
      const ip = formatAddress(address);
      const facts = database.get(ip);
      if (facts === null) return notFound(now);
      const { cc, ...rest } = facts;
      const country = cc === undefined ? undefined : countries.of(cc);
      return answered({ ip, cc, country, ...rest }, { ttl: GEOIP_ABOUT.ttl, now });
    },
  };
}
