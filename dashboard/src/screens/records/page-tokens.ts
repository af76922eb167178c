/**
 * Query tokens that this page may read with. They are in the memory of the page alone, and forgotten when the session ends. A private
 * namespace whose token nobody entered or made here gets one for a day when a read needs it.
 */
import { effect } from '@preact/signals';
import type { MintedQueryToken, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { session } from '../../app/session.ts';
import { invalidate } from '../../data/resource.ts';

/** Name of tokens that the page makes for itself. */
export const PAGE_TOKEN_NAME = 'dashboard: reads of this page';
/** Live tokens of that name that may stay: pages in other tabs use them. */
const KEPT = 3;

/** A token that ends so soon is not used: it could end on the way. */
const ENDING_MS = 10_000;
/** A younger token is not revoked: a page in another tab may use it. */
const YOUNG_MS = 3_600_000;

interface Held {
  readonly namespaceId: string;
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

/** By the id of the token, the newest last. */
const held = new Map<string, Held>();
const making = new Map<string, Promise<string>>();

/** Namespaces for which this page has made a token, or tried to. */
const made = new Set<string>();
let owner: string | null = null;

effect(() => {
  const now = session.value;
  const user = now.phase === 'in' || now.phase === 'lost' ? now.user.id : null;
  if (user === owner) return;
  owner = user;
  held.clear();
  making.clear();
  made.clear();
});

/** Remembers a token that was just minted. */
export function holdToken({ namespace_id, id, token, expires_at }: MintedQueryToken): void {
  held.set(id, { namespaceId: namespace_id, token, endsAt: Date.parse(expires_at) });
}

/** The plaintext of a token that was minted in this page; null: it is not known. */
export function knownToken(id: string): string | null {
  return held.get(id)?.token ?? null;
}

/** A token that this page may read the namespace with; null: none is held. */
export function heldToken(namespaceId: string): string | null {
  const own = [...held.values()].filter(
    (one) => one.namespaceId === namespaceId && one.endsAt > Date.now() + ENDING_MS,
  );
  return own.at(-1)?.token ?? null;
}

/** After a revocation, or a refusal: the token was revoked elsewhere, or it has ended. */
export function dropToken(token: string): void {
  for (const [id, one] of held) if (one.token === token) held.delete(id);
}

/**
 * As `tokenFor`, but makes at most one token in the life of the page: for reads that nobody asked for.
 * @returns null where everyone may read, or where the one token of the page is no longer good
 */
export async function firstTokenFor(namespace: NamespaceResource): Promise<string | null> {
  const isSpent = made.has(namespace.id) && !making.has(namespace.id);
  return isSpent ? heldToken(namespace.id) : await tokenFor(namespace);
}

/** What a read of the namespace needs: null for one that everyone may read. Makes a token where none is held. */
export async function tokenFor(namespace: NamespaceResource): Promise<string | null> {
  if (namespace.public_read === true) return null;
  const known = heldToken(namespace.id);
  if (known !== null) return known;
  const running = making.get(namespace.id) ?? mint(namespace.id);
  making.set(namespace.id, running);
  try {
    return await running;
  } finally {
    making.delete(namespace.id);
  }
}

async function mint(namespaceId: string): Promise<string> {
  made.add(namespaceId);
  const minted = await api.queryTokens.mint(namespaceId, { name: PAGE_TOKEN_NAME, expires_in_days: 1 });
  holdToken(minted);
  invalidate(`tokens ${namespaceId}`);
  // Each load of the page makes one: without this, many loads would fill the limit of the namespace. Two for one, so the number falls.
  const all = await api.queryTokens.list(namespaceId);
  const own = all.filter((one) => one.name === PAGE_TOKEN_NAME && isLive(one));
  const old = own.slice(0, -KEPT).filter((one) => Date.parse(one.created_at) < Date.now() - YOUNG_MS);
  for (const { id } of old.slice(0, 2)) await api.queryTokens.revoke(namespaceId, id);
  return minted.token;
}

function isLive(token: { readonly revoked_at: string | null; readonly expires_at: string }): boolean {
  return token.revoked_at === null && Date.parse(token.expires_at) > Date.now();
}
