import { type AccountDeletion, type AccountDeletions, createAccountDeletions } from './account-deletions.ts';
import { createRegister, done, type Effect, type Register, type Write } from './register.ts';
import { createWebhookStates, type WebhookStates } from './webhook-state.ts';

/** A record as its writer knows it. Undefined: nobody was told. */
export interface RecordValue {
  readonly id: string | undefined;
  /** Base64. */
  readonly data: string | undefined;
  readonly contentType: string | undefined;
  readonly isPlain: boolean | undefined;
  readonly ttlSeconds: number | undefined;
  /** Milliseconds; null: never. */
  readonly expiresAt: number | null | undefined;
}

export type RecordWrite = Write<RecordValue | null>;

export interface TokenState {
  readonly namespaceId: string;
  readonly expiresAt: number;
  readonly isLive: Register<boolean>;
}

export interface NamespaceState {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly isClosed: Register<boolean>;
  readonly isSuspended: Register<boolean>;
  readonly publicRead: Register<boolean>;
  readonly maxTtl: Register<number>;
  /** Its deletions, with what goes with it. */
  readonly closings: { readonly write: Write<boolean>; readonly effects: Effect[] }[];
}

/** All things that writes change. */
export interface State {
  /** Which namespace has the name, by its id. That it is closed stands there. */
  readonly names: Map<string, Register<string | null>>;
  readonly namespaces: Map<string, NamespaceState>;
  readonly tokens: Map<string, TokenState>;
  /** Tokens by their id. */
  readonly tokenIds: Map<string, TokenState>;
  readonly records: Map<string, Register<RecordValue | null>>;
  /** Keys of records by id. */
  readonly keys: Map<string, string>;
  /** Who wrote a payload: no two writes have the same. */
  readonly byData: Map<string, { readonly key: string; readonly write: RecordWrite }>;
  readonly webhooks: WebhookStates;
  readonly deletions: AccountDeletions;
  /** Number of the restore that was last: what a backup brings back is another row than the one that was deleted. */
  era: number;
  name(name: string): Register<string | null>;
  record(key: string): Register<RecordValue | null>;
  /** The namespace with this id. */
  namespace(id: string, name: string, account: string): NamespaceState;
  /** The database is as it was at `backup`, from now on. @returns deletions of accounts that go on */
  restore(backup: number, now: number): readonly AccountDeletion[];
}

const MAX_TTL_DEFAULT = 60;

/** The row of a record or a namespace; after a restore it is another one. */
export function rowOf({ era }: Pick<State, 'era'>, id: string): string {
  return `${id} ${era}`;
}

export function namespaceOf(key: string): string {
  return key.split('.').at(-2)!;
}

export function createState(): State {
  const names = new Map<string, Register<string | null>>();
  const records = new Map<string, Register<RecordValue | null>>();
  const namespaces = new Map<string, NamespaceState>();
  const tokens = new Map<string, TokenState>();
  const deletions = createAccountDeletions();

  function restored<V>(register: Register<V>, backup: number, now: number): void {
    // Those that were under way at the backup may be in it or not.
    const present = register.possible(backup);
    for (const write of register.writes) write.to = Math.min(write.to, now - 1);
    for (const { value, by } of present) {
      const again = register.begin(value, now, { owners: ownersOf(value) });
      again.by = by;
      done(again, now);
    }
  }

  /** Of a record that came back. */
  function ownersOf(value: unknown): readonly string[] {
    const id = (value as RecordValue | null)?.id;
    return id === undefined ? [] : [`${id} ${state.era}`];
  }

  const state: State = {
    names,
    records,
    namespaces,
    tokens,
    tokenIds: new Map(),
    keys: new Map(),
    byData: new Map(),
    webhooks: createWebhookStates(),
    deletions,
    era: 0,
    name(name) {
      const register = names.get(name) ?? createRegister<string | null>(null);
      names.set(name, register);
      return register;
    },
    record(key) {
      const register = records.get(key) ?? createRegister<RecordValue | null>(null);
      records.set(key, register);
      return register;
    },
    namespace(id, name, account) {
      const known = namespaces.get(id);
      if (known !== undefined) return known;
      const flag = (): Register<boolean> => createRegister(false);
      const flags = { isClosed: flag(), isSuspended: flag(), publicRead: flag() };
      const maxTtl = createRegister(MAX_TTL_DEFAULT);
      const made: NamespaceState = { id, name, account, ...flags, maxTtl, closings: [] };
      namespaces.set(id, made);
      // Made before its account was deleted, and told afterwards.
      for (const { write: deletion, follows } of deletions.underWay(account)) {
        const write = made.isClosed.begin(true, deletion.from);
        const effects: Effect[] = [{ write }];
        // Of keys that were asked for before it was.
        for (const [key, register] of records)
          if (namespaceOf(key) === name)
            effects.push({ write: register.begin(null, deletion.from, { ends: rowOf(state, id) }) });
        made.closings.push({ write, effects });
        follows.push(effects);
      }
      return made;
    },
    restore(backup, now) {
      state.era++;
      for (const register of [...names.values(), ...records.values()]) {
        restored<unknown>(register as Register<unknown>, backup, now);
      }
      for (const { isClosed, isSuspended, publicRead, maxTtl } of namespaces.values()) {
        for (const register of [isClosed, isSuspended, publicRead, maxTtl]) {
          restored<unknown>(register as Register<unknown>, backup, now);
        }
      }
      for (const { isLive } of tokens.values()) restored(isLive, backup, now);
      for (const webhook of state.webhooks.byId.values()) {
        const { url, events, namespaces: scope, isEnabled, isDeleted, secret } = webhook;
        for (const register of [url, events, scope, isEnabled, isDeleted, secret]) {
          restored<unknown>(register as Register<unknown>, backup, now);
        }
        // One that was made since is not in the backup.
        if (webhook.to > backup) done(isDeleted.begin(true, now), now);
      }
      return deletions.restore((register) => restored(register, backup, now), backup, now);
    },
  };
  return state;
}
