import {
  formatAddress,
  isGlobalUnicast,
  parseAddress,
  parseIpv4,
  parseIpv6,
} from '../base/network/address.ts';
import { answered, malformedAnswer, notEnabled, notFoundAnswer } from './answers.ts';
import type { AddressSource } from './geoip-files.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

export const GEOIP_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'geoip',
    title: 'Location of an address',
    description:
      'Where an explicit IP address is used, as far as the database of this server knows. Never the address of the client.',
    attribution: ['countries in the default database from NRO (https://www.nro.net), CC BY 4.0'],
    properties: {
      ip: { type: 'string', description: 'The address', example: '8.8.8.8' },
      cc: { type: 'string', description: 'Country, ISO 3166-1', example: 'US', pattern: '^[A-Z]{2}$' },
      country: { type: 'string', description: 'Its English name', example: 'United States' },
      region: { type: 'string', description: 'State or province', example: 'California' },
      city: { type: 'string', description: 'City', example: 'Mountain View' },
      lat: {
        type: 'number',
        description: 'Degrees, north positive',
        example: 37.422,
        minimum: -90,
        maximum: 90,
      },
      lon: {
        type: 'number',
        description: 'Degrees, east positive',
        example: -122.085,
        minimum: -180,
        maximum: 180,
      },
      tz: { type: 'string', description: 'Time zone', example: 'America/Los_Angeles' },
      asn: { type: 'integer', description: 'Autonomous system', example: 15_169, minimum: 0 },
      org: { type: 'string', description: 'Its holder', example: 'Google LLC' },
    },
    optional: ['cc', 'country', 'region', 'city', 'lat', 'lon', 'tz', 'asn', 'org'],
  }),
  template: 'geoip.ip-{address}.public.v1',
  placeholders: {
    address: { type: 'string', examples: ['8-8-8-8', '2001-4860-4860--8888'] },
  },
  examples: ['geoip.ip-8-8-8-8.public.v1', 'geoip.ip-2001-4860-4860--8888.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;ip=8.8.8.8;cc=US;country=United States;ts=1767225600',
  ttl: 3600,
  errors: [
    { code: 'E004', description: 'A private or reserved address, or one of which nothing is known' },
    { code: 'E013', description: 'This server has no database' },
  ],
};

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
      if (address === null) return malformedAnswer('address');
      // Private, loopback, documentation, multicast: no location, even if the database has one.
      if (!isGlobalUnicast(address)) return notFoundAnswer(now);
      const database = source.current();
      if (database === null) return notEnabled(now);
      const ip = formatAddress(address);
      const facts = database.get(ip);
      if (facts === null) return notFoundAnswer(now);
      const { cc, ...rest } = facts;
      const country = cc === undefined ? undefined : countries.of(cc);
      return answered({ ip, cc, country, ...rest }, { ttl: GEOIP_ABOUT.ttl, now });
    },
  };
}

const PREFIX = 'ip-';
const IPV4 = /^(?:[0-9]{1,3}-){3}[0-9]{1,3}$/;
const IPV6 = /^[0-9a-f-]+$/i;

/**
 * Parses `ip-` and an address with hyphens for dots or colons. Returns the address in canonical form, or null. Leading
 * zeros in IPv4 and zones in IPv6 are invalid.
 */
export function parseIpLabel(label: string): string | null {
  if (!label.toLowerCase().startsWith(PREFIX)) return null;
  const body = label.slice(PREFIX.length);
  if (IPV4.test(body)) {
    const address = body.replaceAll('-', '.');
    return parseIpv4(address) === null ? null : address;
  }
  if (!IPV6.test(body)) return null;
  const address = body.replaceAll('-', ':');
  return parseIpv6(address) === null ? null : address;
}
