import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import { API_KEY, BEARER, isRepeated } from '../../http/guard.ts';
import { foldCase, isLabel } from '../../protocol/names/labels.ts';
import { QUERY_TOKEN_FORM, queryTokenDigest } from '../../protocol/query/query-token.ts';
import { apiKeyDigest } from '../keys/rules.ts';
import { FlagRefusal } from './answers.ts';
import type { Credential, FlagNamespace, FlagSource } from './source.ts';

const QUERY_TOKEN = new RegExp(QUERY_TOKEN_FORM, 'i');
const DAY = 86_400_000;
/** Octets of a ticket: of the credential's digest, and of the HMAC. */
const TICKET = { digest: 8, mac: 16 };

/** A refusal that tells nothing of what is wrong: all 401 are alike. */
const unknown = (): FlagRefusal => new FlagRefusal(401, '');

/** The credential of a request, which is never a cookie. Null: none that has the form of one. */
export function credentialOf(request: FastifyRequest): Credential | null {
  const { authorization, 'x-api-key': header } = request.headers;
  if (isRepeated(request, 'authorization') || isRepeated(request, 'x-api-key')) return null;
  const token = authorization === undefined ? header?.toString() : BEARER.exec(authorization)?.[1];
  if (token === undefined) return null;
  if (QUERY_TOKEN.test(token)) return { kind: 'token', digest: queryTokenDigest(token) };
  return API_KEY.test(token) ? { kind: 'key', digest: apiKeyDigest(token) } : null;
}

/** @param path of the URL, in any case; null: none. @returns null when no namespace can have this name */
export function namespaceOfPath(path: string | undefined): string | null {
  const name = foldCase(path ?? '');
  return isLabel(name) ? name : null;
}

/** Which flags a request may read, and by what. */
export interface FlagAccess {
  readonly credential: Credential | null;
  /** The name that the URL has; undefined: the credential names the namespace. */
  readonly path: string | undefined;
  readonly namespace: FlagNamespace;
}

/**
 * Authorizes a request that has waited: while its body came, or its answer stays open, the credential may have ended, or the namespace, whose name
 * others may have now.
 * @throws FlagRefusal 401 or 403
 */
export async function authorizeAgain(source: FlagSource, access: FlagAccess): Promise<FlagAccess> {
  const renewed = await authorize(source, access.credential, access.path);
  if (renewed.namespace.id !== access.namespace.id) throw unknown();
  return renewed;
}

/**
 * Finds the namespace whose flags a request may read.
 * @param path the name that the URL has; undefined: the credential names the namespace
 * @throws FlagRefusal 401 or 403
 */
export async function authorize(
  source: FlagSource,
  credential: Credential | null,
  path: string | undefined,
): Promise<FlagAccess> {
  const named = path === undefined ? null : namespaceOfPath(path);
  if (path !== undefined && named === null) throw unknown();
  const grant = credential && (await source.token(credential));
  const name =
    named ?? (grant?.kind === 'token' ? grant.namespace.name : grant && onlyNamespace(grant.actor));
  if (name === null) throw unknown();
  const namespace = await source.namespace(name, grant);
  if (namespace?.isOpen === true && !namespace.isSuspended && named !== null)
    return { credential, path, namespace };
  if (grant === null || (grant.kind === 'token' && grant.namespace.id !== namespace?.id)) throw unknown();
  if (grant.kind === 'key') requireRead(grant.actor, namespace);
  if (namespace === null) throw unknown();
  if (namespace.isSuspended) throw new FlagRefusal(403, 'the namespace is suspended');
  return { credential, path, namespace };
}

/** The one namespace that an API key reaches; null: it names none or several. */
function onlyNamespace({ namespaces }: Actor): string | null {
  const [only = null, ...others] = namespaces ?? [];
  return others.length === 0 ? only : null;
}

function requireRead(actor: Actor, namespace: FlagNamespace | null): void {
  if (!actor.operations.has('read')) throw new FlagRefusal(403, 'the API key lacks the read scope');
  const isOwn = namespace?.customerId === actor.customerId && reaches(actor, namespace.name);
  if (!isOwn) throw new FlagRefusal(403, 'the API key does not reach this namespace');
}

/** Opens the stream of events in place of a credential: it may stand in a URL, and opens nothing else. */
export interface Tickets {
  /** The same for a credential all day. */
  text(credential: Credential): string;
  /** Null: it is no ticket of this day or the day before. */
  credential(text: string, source: FlagSource): Promise<Credential | null>;
}

/** @param key 32 octets that are used for nothing else */
export function openTickets(key: Uint8Array, clock: Clock): Tickets {
  const macOf = ({ kind, digest }: Credential, day: number): Buffer =>
    createHmac('sha256', key).update(`${kind} ${digest} ${day}`).digest().subarray(0, TICKET.mac);
  const today = (): number => Math.floor(clock() / DAY);
  return {
    text(credential) {
      const start = Buffer.from(credential.digest, 'hex').subarray(0, TICKET.digest);
      return Buffer.concat([start, macOf(credential, today())]).toString('base64url');
    },
    async credential(text, source) {
      const octets = Buffer.from(text, 'base64url');
      if (octets.length !== TICKET.digest + TICKET.mac || octets.toString('base64url') !== text) return null;
      const mac = octets.subarray(TICKET.digest);
      const candidates = await source.beginning(octets.toString('hex', 0, TICKET.digest));
      const isMade = (candidate: Credential): boolean =>
        [today(), today() - 1].some((day) => timingSafeEqual(macOf(candidate, day), mac));
      return candidates.find(isMade) ?? null;
    },
  };
}
