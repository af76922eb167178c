/** Names with a query token. The token is kept apart from the name, which may then stand in an address or on the page. */
import type { OctetSpan } from '../../../sdk/src/dns.ts';

/** Stands in place of a token. It has no letters, so no token equals it. */
export const MASK = '••••••••';

export interface MaskedName {
  /** With `auth-` and the mask in place of the token. */
  readonly name: string;
  readonly token: string | null;
}

const TOKEN_LABEL = /(^|\.)(auth-)([^.]+)/i;
const ALL_TOKEN_LABELS = /(^|[^a-z0-9-])(auth-)[a-z0-9-]+/gi;

/** Takes the token out of a name. @param known the token that a mask in the name stands for */
export function maskName(text: string, known: string | null): MaskedName {
  const found = TOKEN_LABEL.exec(text)?.[3];
  if (found === undefined) return { name: text, token: null };
  const name = text.replace(TOKEN_LABEL, `$1$2${MASK}`);
  return { name, token: found === MASK ? known : found };
}

/** The name as it is asked. */
export function unmaskName({ name, token }: MaskedName): string {
  return token === null ? name : name.replace(MASK, token);
}

/** Whether a name has a label for a token, be it whole or not. Such a name must not get into an address. */
export function hasTokenLabel(name: string): boolean {
  return /(^|\.)auth-/i.test(name);
}

/** Hides the labels of tokens in any text, such as an owner name. */
export function maskText(text: string): string {
  return text.replace(ALL_TOKEN_LABELS, `$1$2${MASK}`);
}

/** Octets of a message that are a token: the places of each. */
export function tokenPlaces(octets: Uint8Array): ReadonlySet<number> {
  const places = new Set<number>();
  const auth = [0x61, 0x75, 0x74, 0x68, 0x2d];
  for (let at = 1; at + auth.length < octets.length; at += 1) {
    // Letters differ from their other case in one bit.
    if (!auth.every((letter, index) => ((octets[at + index] ?? 0) | 0x20) === letter)) continue;
    const end = Math.min(at + (octets[at - 1] ?? 0), octets.length);
    for (let place = at + auth.length; place < end; place += 1) places.add(place);
  }
  return places;
}

/**
 * Octets that stay as they are: those of every name that holds a token. With another length in front of a label the token would be
 * read as something else, and shown.
 */
export function lockedPlaces(octets: Uint8Array, spans: readonly OctetSpan[]): ReadonlySet<number> {
  const hidden = [...tokenPlaces(octets)];
  const places = new Set<number>();
  for (const { from, to } of spans) {
    if (!hidden.some((at) => from <= at && at < to)) continue;
    for (let at = from; at < to; at += 1) places.add(at);
  }
  return places;
}
