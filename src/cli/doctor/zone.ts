/** Checks of what the world sees: certificate, DS records at the parent. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { RCODE, rcodeName } from '../../protocol/dns-codes.ts';
import { type Finding, note, ok, wrong } from './finding.ts';

const DAY_MS = 86_400_000;
const WARN_DAYS = 14;

/**
 * @param pem certificate, or a chain that begins with it
 * @param keyPem its private key
 * @param now milliseconds since the epoch
 */
export function checkCertificate(pem: string, keyPem: string, now: number): Finding {
  const certificate = new X509Certificate(pem);
  if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) {
    return wrong(
      'certificate',
      'the private key is not the key of the certificate. Replace one of the two files.',
    );
  }
  const days = Math.floor((certificate.validToDate.getTime() - now) / DAY_MS);
  const names = certificate.subjectAltName ?? 'no names';
  if (certificate.validFromDate.getTime() > now) {
    return wrong('certificate', `not valid before ${certificate.validFrom}: look at the clock`);
  }
  if (days < 0) return wrong('certificate', `ended ${-days} days ago. Replace it and send SIGHUP. ${names}`);
  return (days < WARN_DAYS ? note : ok)('certificate', `valid for ${days} days, ${names}`);
}

/** @param rcode with which a resolver answered a question for the root, which always exists */
export function checkRootAnswer(check: string, rcode: number): Finding {
  if (rcode === RCODE.NOERROR) return ok(check, 'answers');
  return wrong(
    check,
    `answers a question for the root with ${rcodeName(rcode)}. Set UQRP_RESOLVERS to one that resolves names of the Internet.`,
  );
}

/**
 * @param own DS records of our keys, in presentation form without the owner: `12345 13 2 0A1B...`; none where there are no keys
 * @param parent those that a resolver gave; null when none could be asked
 */
export function checkDs(zone: string, own: readonly string[], parent: readonly string[] | null): Finding {
  const check = `ds ${zone}`;
  if (own.length === 0) {
    return parent === null || parent.length === 0
      ? note(check, 'there are no keys yet: the server makes them at its start')
      : wrong(
          check,
          'the parent has DS records, and there are no keys here. Put them back from a backup before a start: new keys do not fit those records.',
        );
  }
  if (parent === null) return note(check, 'no resolver could be asked for the DS records');
  if (parent.length === 0)
    return note(check, 'the parent has no DS record: answers are signed, and nobody validates them');
  const folded = parent.map((text) => text.toUpperCase());
  const shared = own.filter((text) => folded.includes(text.toUpperCase()));
  return shared.length > 0
    ? ok(check, `${shared.length} of ${parent.length} DS records at the parent belong to our keys`)
    : wrong(
        check,
        'no DS record at the parent belongs to our keys: validating resolvers refuse this zone. Compare uqrp dnssec ds.',
      );
}
