/**
 * Query tokens that this page may read with. They are in the memory of the tabs alone, and forgotten when the session ends. A private
 * namespace whose token nobody entered or made here gets one when a read needs it. The server keeps one such token for a session and
 * namespace: another replaces it, and the sign-out revokes it. So the tabs of a session share theirs.
 */
import { effect } from '@preact/signals';
import type { MintedQueryToken, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { session } from '../../app/session.ts';
import { invalidate } from '../../data/resource.ts';

/** Name of tokens that the page makes for itself. */
export const PAGE_TOKEN_NAME = 'dashboard: reads of this page';
/** A token that ends so soon is not used: it could end on the way. */
const ENDING_MS = 10_000;
/** Milliseconds that another tab has to answer with its token. */
const OTHER_TAB_MS = 60;

interface Held {
  readonly namespaceId: string;
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
  /** Made for the reads of this session's pages. */
  readonly isOfSession: boolean;
}

/** What tabs of one browser tell each other. `userId`: a tab of somebody else's session must not take it. */
type Told =
  /** `wanted`: of this namespace; null: of all of them. */
  | { readonly userId: string; readonly wanted: string | null }
  | { readonly userId: string; readonly id: string; readonly held: Held };

/** By the id of the token, the newest last. */
const held = new Map<string, Held>();
const making = new Map<string, Promise<string>>();

/** Namespaces for which this page has made a token, or tried to. */
const made = new Set<string>();
/** Tokens that are no longer good: another tab may not know it yet. */
const refused = new Set<string>();
let owner: string | null = null;

const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('uqrp-page-tokens') : null;

function tell(told: Told): void {
  channel?.postMessage(told);
}

effect(() => {
  const now = session.value;
  const user = now.phase === 'in' || now.phase === 'lost' ? now.user.id : null;
  if (user === owner) return;
  owner = user;
  held.clear();
  making.clear();
  made.clear();
  refused.clear();
  // Before any is needed: another tab may be too busy to answer in the time that a read waits for it.
  if (user !== null) tell({ userId: user, wanted: null });
});

channel?.addEventListener('message', ({ data: told }: MessageEvent<Told>) => {
  if (owner === null || told.userId !== owner) return;
  if ('held' in told) {
    if (!refused.has(told.held.token)) take(told.id, told.held);
    return;
  }
  for (const [id, one] of held) {
    const isWanted = told.wanted === null || told.wanted === one.namespaceId;
    if (one.isOfSession && isWanted) tell({ userId: owner, id, held: one });
  }
});

/** Remembers a token; the server has revoked the one of the session before it. */
function take(id: string, one: Held): void {
  for (const [other, { isOfSession, namespaceId }] of held) {
    if (one.isOfSession && isOfSession && namespaceId === one.namespaceId) held.delete(other);
  }
  held.set(id, one);
}

/** Remembers a token that was just minted. */
export function holdToken({
  namespace_id,
  id,
  token,
  expires_at,
  session: isOfSession,
}: MintedQueryToken): void {
  take(id, { namespaceId: namespace_id, token, endsAt: Date.parse(expires_at), isOfSession });
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
  refused.add(token);
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
  const userId = owner;
  if (userId !== null && channel !== null) {
    tell({ userId, wanted: namespaceId });
    await new Promise((resolve) => setTimeout(resolve, OTHER_TAB_MS));
    const given = heldToken(namespaceId);
    if (given !== null) return given;
  }
  const minted = await api.queryTokens.mint(namespaceId, { name: PAGE_TOKEN_NAME, session: true });
  holdToken(minted);
  const one = held.get(minted.id);
  if (userId !== null && one !== undefined) tell({ userId, id: minted.id, held: one });
  invalidate(`tokens ${namespaceId}`);
  return minted.token;
}
