import { constant, malformed } from '../answers.ts';
import type { Service } from '../service.ts';
import { addressText, contains, hostsOf, parseHost, parseNetwork } from './network.ts';
import { CIDR_ABOUT } from './schema.ts';

/** `get.[<address>.]<network>.cidr.public.v1` */
export function makeCidr(): Service {
  return {
    resource: 'cidr',
    operation: 'get',
    enabled: true,
    about: CIDR_ABOUT,
    answer(params) {
      const label = params.at(-1);
      if (label === undefined) return malformed('parameter');
      const network = params.length > 2 ? null : parseNetwork(label);
      const host = params.length === 2 ? parseHost(params[0]!) : undefined;
      if (network === null || host === null) return malformed('address');
      const { width, prefix, first, last } = network;
      const [min, max] = hostsOf(network);
      const fields = {
        net: `${addressText(first, width)}/${prefix}`,
        mask: width === 32 ? addressText(maskOf(prefix), width) : undefined,
        first: addressText(first, width),
        last: addressText(last, width),
        min: addressText(min, width),
        max: addressText(max, width),
        n: (last - first + 1n).toString(),
        ip: host && addressText(host.value, host.width),
        in: host && (contains(network, host) ? 'yes' : 'no'),
      };
      return constant(fields, CIDR_ABOUT.ttl);
    },
  };
}

/** @param prefix of IPv4 */
function maskOf(prefix: number): bigint {
  return (1n << 32n) - (1n << BigInt(32 - prefix));
}
