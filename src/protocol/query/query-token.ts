import { hash } from 'node:crypto';
import { QUERY_TOKEN_PREFIX } from '../../base/brand.ts';
import { encodeBase32 } from '../encodings.ts';

/** 256 bits, written as 52 base32hex letters. */
export const QUERY_TOKEN_BYTES = 32;

/** `svcq` and 52 letters of `[0-9a-v]`, as a regular expression in lower case. */
export const QUERY_TOKEN_FORM = `^${QUERY_TOKEN_PREFIX}[0-9a-v]{52}$`;

/** As `QUERY_TOKEN_FORM`. @param secret 32 random octets */
export function spellQueryToken(secret: Uint8Array): string {
  if (secret.length !== QUERY_TOKEN_BYTES) throw new RangeError('a query token is made of 32 bytes');
  return QUERY_TOKEN_PREFIX + encodeBase32(secret, 'hex');
}

/** Lower-case hex SHA-256 of the token in lower case, because resolvers change the case of names. */
export function queryTokenDigest(token: string): string {
  return hash('sha256', Buffer.from(token.toLowerCase(), 'latin1'), 'hex');
}
