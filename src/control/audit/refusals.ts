/** What was refused, and sign-ins that failed: rows that anybody can cause, so they are bounded, and written within a second after the answer. */
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import type { AuditAction, AuditObjectKind } from '../../protocol/audit.ts';
import { findUserByEmail, lockCustomer } from '../../store/accounts.ts';
import { addRefusals, type NewAuditRow } from '../../store/audit.ts';
import { findMember } from '../../store/organizations.ts';
import type { Tx } from '../../store/store.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { byActor } from './actions.ts';

/** Whose sign-in failed: the address that was given, or the owner of a passkey. */
type Account = { readonly email: string } | { readonly userId: string };

export interface Refusals {
  /** A request that was answered 403. */
  refused(actor: Actor, refusal: Refusal): void;
  /** Nothing that the client sees depends on whether there is such an account: it is looked up after the answer. */
  signInFailed(account: Account, requestId: string): void;
  /** Waits until what was refused is written, and for no sign-in: how long that takes tells whether there is such an account. */
  settleRefused(): Promise<void>;
  /** Waits until all of them are written. */
  settle(): Promise<void>;
}

export interface HasRefusals {
  readonly refusals: Refusals;
}

interface Refusal {
  readonly action: AuditAction;
  /** Of the object; null: it is not known. */
  readonly objectId: string | null;
  /** In whose log it belongs, if the actor is a member. */
  readonly organizationId: string | null;
}

type Row = Omit<NewAuditRow, 'customer_id'>;

interface Waiting {
  readonly customerOf: (tx: Tx) => Promise<string | null>;
  readonly rows: Row[];
  /** Beyond `auditRefusalsPerHour`. */
  more: number;
}

/** Customers of one unit. */
const UNIT = 20;

/** Milliseconds. The time of a write tells nobody which request caused it, and so not which addresses have an account. */
const REST_MS = 1_000;

type QueueDeps = HasStore & HasClock & { readonly timers: Timers };

export function openRefusals(deps: QueueDeps, onError: (error: unknown) => void): Refusals {
  const { clock } = deps;
  const ofRefused = openQueue(deps, onError);
  const ofSignIns = openQueue(deps, onError);
  return {
    refused(actor, { action, objectId, organizationId }) {
      const { customerId, userId } = actor;
      const row = { ...rowAt(clock(), action), ...byActor(actor), outcome: 'refused' } as const;
      const isOther = organizationId !== null && organizationId !== customerId && userId !== null;
      ofRefused.add(
        isOther ? `${organizationId} ${userId}` : customerId,
        async (tx) =>
          isOther && (await findMember(tx, organizationId, userId)) !== null ? organizationId : customerId,
        { ...row, object_kind: kindOf(action), object_id: objectId },
      );
    },
    signInFailed(account, requestId) {
      const row = rowAt(clock(), 'sign_in.failed');
      ofSignIns.add(
        'email' in account ? account.email : account.userId,
        async (tx) =>
          'email' in account ? ((await findUserByEmail(tx, account.email))?.id ?? null) : account.userId,
        { ...row, request_id: requestId, actor_kind: 'user' },
      );
    },
    settleRefused: () => ofRefused.settle(),
    async settle() {
      await Promise.all([ofRefused.settle(), ofSignIns.settle()]);
    },
  };
}

/** Rows that are written a second after the first of them. */
function openQueue({ store, timers }: QueueDeps, onError: (error: unknown) => void) {
  const waiting = new Map<string, Waiting>();
  let writing: Promise<void> | null = null;
  let cancel: (() => void) | null = null;

  async function write(): Promise<void> {
    while (waiting.size > 0) {
      const some = [...waiting].slice(0, UNIT);
      for (const [key] of some) waiting.delete(key);
      // What cannot be written is lost: it is no part of an action.
      await store
        .write((tx) =>
          writeAll(
            tx,
            some.map(([, one]) => one),
          ),
        )
        .catch(onError);
    }
    writing = null;
  }

  function start(): void {
    cancel?.();
    cancel = null;
    if (waiting.size > 0) writing ??= write();
  }

  return {
    add(key: string, customerOf: Waiting['customerOf'], row: Row): void {
      const known = waiting.get(key);
      if (known === undefined && waiting.size >= LIMITS.auditRefusalsWaiting) return;
      const one = known ?? { customerOf, rows: [], more: 0 };
      if (one.rows.length < LIMITS.auditRefusalsPerHour) one.rows.push(row);
      else one.more++;
      waiting.set(key, one);
      cancel ??= timers.after(REST_MS, start);
    },
    async settle(): Promise<void> {
      start();
      while (writing !== null) await writing;
    },
  };
}

function rowAt(at: number, action: AuditAction): Row {
  return {
    at,
    request_id: null,
    actor_kind: 'system',
    actor_id: null,
    actor_name: null,
    action,
    outcome: 'done',
    object_kind: null,
    object_id: null,
    object_name: null,
    namespace: null,
    count: null,
    tag_before: null,
    tag_after: null,
    seq: null,
  };
}

const KINDS: Readonly<Record<string, AuditObjectKind>> = {
  session: 'session',
  passkey: 'passkey',
  api_key: 'api_key',
  query_token: 'query_token',
  namespace: 'namespace',
  record: 'record',
  versions: 'record',
  webhook: 'webhook',
  organization: 'organization',
  member: 'member',
  account: 'account',
};

function kindOf(action: AuditAction): AuditObjectKind | null {
  return KINDS[action.split('.', 1)[0]!] ?? null;
}

async function writeAll(tx: Tx, all: readonly Waiting[]): Promise<void> {
  const found: { customerId: string; rows: readonly Row[]; more: number }[] = [];
  for (const { customerOf, rows, more } of all) {
    const customerId = await customerOf(tx);
    if (customerId !== null) found.push({ customerId, rows, more });
  }
  // In the order of ids, as other units lock several customers.
  for (const { customerId, rows, more } of found.sort((a, b) => (a.customerId < b.customerId ? -1 : 1))) {
    // Held: two processes do not count the same hour at once, and a deletion has not passed these rows.
    if (!(await lockCustomer(tx, customerId))) continue;
    await addRefusals(
      tx,
      rows.map((row) => ({ ...row, customer_id: customerId })),
      more,
      LIMITS.auditRefusalsPerHour,
    );
  }
}
