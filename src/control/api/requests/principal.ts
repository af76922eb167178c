import type { Actor } from '../../accounts/actor.ts';
import type { Sessions } from '../../accounts/sessions.ts';
import type { ApiKeys } from '../../keys/authenticate.ts';

/** Longer than any credential. */
const CREDENTIAL_MAX = 2048;

/** RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1). */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const API_KEY = /^[0-9a-f]{64}$/;
const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** A JWT has three parts with dots, an API key 64 lower-case hexadecimal letters. Null: no valid credential. */
export async function resolvePrincipal(
  header: string | undefined,
  sessions: Sessions,
  apiKeys: ApiKeys,
): Promise<Actor | null> {
  if (header === undefined || header.length > CREDENTIAL_MAX) return null;
  const credential = BEARER.exec(header)?.[1];
  if (credential === undefined) return null;
  if (API_KEY.test(credential)) return apiKeys.authenticate(credential);
  return sessionPrincipal(credential, sessions);
}

/** Null: no token of a session that counts. */
export async function sessionPrincipal(token: string, sessions: Sessions): Promise<Actor | null> {
  return token.length <= CREDENTIAL_MAX && JWT.test(token) ? sessions.authenticate(token) : null;
}
