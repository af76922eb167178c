import { createHash } from 'node:crypto';
import { QUERY_TOKEN_PREFIX } from '../brand.ts';
import { encodeBase32 } from '../text/base32.ts';

/** Random bytes behind a token: 256 bits, spelled with 52 base32hex letters. */
export const QUERY_TOKEN_BYTES = 32;

/**
 * Spells a token: `svcq` and 52 letters of `[0-9a-v]`, 56 in all.
 *
 * @param secret 32 random bytes
 */
export function spellQueryToken(secret: Uint8Array): string {
  if (secret.length !== QUERY_TOKEN_BYTES) throw new RangeError('a query token is made of 32 bytes');
  return QUERY_TOKEN_PREFIX + encodeBase32(secret, 'hex');
}

/**
 * The digest that is stored and replicated: lower-case hex SHA-256 of the whole token in lower case. Resolvers change the
 * case of names, so the presented value is folded before it is hashed; it is never parsed.
 */
export function queryTokenDigest(token: string): string {
  return createHash('sha256').update(token.toLowerCase(), 'latin1').digest('hex');
}
