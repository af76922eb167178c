import type { Clock } from '../../base/clock.ts';
import type { NameServer } from '../../base/network/name-server.ts';
import { readKeySet } from '../../dns/dnssec/keys/key-set.ts';
import { isPresigned, type NodeKeySetData, readPresignedSet } from '../../dns/dnssec/keys/node-key-set.ts';
import { nsecRdata } from '../../dns/dnssec/signing/nsec.ts';
import {
  makePresignedSigner,
  makeSigner,
  type Signer,
  type SigningMode,
} from '../../dns/dnssec/signing/signer.ts';
import {
  makeZone,
  type ServedZone,
  signedZone,
  unsignedZone,
  type ZoneSigner,
} from '../../dns/query/zones.ts';

export interface ServedZoneSettings {
  readonly zones: readonly string[];
  readonly nameServers: readonly NameServer[];
  readonly mode: SigningMode;
  /** One key set a zone; empty where answers are not signed. */
  readonly keys: readonly NodeKeySetData[];
  readonly clock: Clock;
}

/** The zones of a node, each with its signer and its DNSKEY, CDS and CDNSKEY rrsets. @throws KeyError for unusable keys */
export function servedZones({ zones, nameServers, mode, keys, clock }: ServedZoneSettings): ServedZone[] {
  return zones.map((text) => {
    const data = keys.find(({ zone }) => zone === text);
    if (data === undefined) return unsignedZone(makeZone(text, nameServers));
    const signer = isPresigned(data)
      ? makePresignedSigner({ ...readPresignedSet(data), clock })
      : makeSigner({ keys: readKeySet(data), mode, clock });
    const apex = [signer.dnskey, signer.cds, signer.cdnskey];
    return signedZone(makeZone(text, nameServers, apex), zoneSigner(signer));
  });
}

function zoneSigner(signer: Signer): ZoneSigner {
  return {
    sign: (rrset, once) => signer.sign(rrset, once),
    nsec: (qname, types) => nsecRdata(qname, types, signer.apex),
  };
}
