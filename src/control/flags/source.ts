import type { Actor } from '../../http/actor.ts';
import type { NamespaceReader, ReadNamespace } from '../../store/flags.ts';
import type { FlagDocument } from './documents.ts';

/** A credential by its lower-case hex SHA-256. */
export interface Credential {
  readonly kind: 'token' | 'key';
  readonly digest: string;
}

/** What a credential that counts may read. */
export type Grant =
  | { readonly kind: 'token'; readonly namespace: Pick<FlagNamespace, 'id' | 'name'> }
  | { readonly kind: 'key'; readonly actor: Actor };

export interface FlagNamespace {
  readonly id: string;
  readonly name: string;
  readonly customerId: string;
  /** It needs no credential. */
  readonly isOpen: boolean;
  readonly isSuspended: boolean;
}

/** The documents of a namespace, as of now. */
export interface Documents {
  get(key: string): Promise<FlagDocument | null>;
  /** In order of their keys; null: more than `LIMITS.flagsOfNamespace`. */
  all(): readonly FlagDocument[] | null;
  /** Octets of memory of all of them, about: what an evaluation of all has to look at. */
  cost(): number;
  /** A digest of all of them, the same in every process. */
  tag(): string;
  /** Whether they have this tag, or had it not long ago. */
  hasHad(tag: string): boolean;
}

/** A commit that touched flags of a namespace. */
export interface FlagChange {
  readonly namespace: FlagNamespace;
  readonly seq: number;
  /** Of the log that has this place: it may be another one by the time that somebody is told. */
  readonly epoch: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Of the documents, now. */
  readonly tag: () => string;
}

/** A namespace whose changes are told although nobody asks for its flags. */
export interface Held {
  /** The place of the log after which no flag of it has changed. */
  changedAt(): number;
  /** Whether everything that was heard of was told. False once the namespace is gone: changes of another one with its name are told to others. */
  isSettled(): boolean;
  tag(): string;
  release(): void;
}

/**
 * What evaluations read. Rejects where the answer is not known and the database is away. A name may pass to another customer at any time: what is
 * read belongs to the namespace with the id that was authorized, or is nothing.
 */
export interface FlagSource {
  /** Null: unknown, or ended. */
  token(credential: Credential): Promise<Grant | null>;
  /** Credentials whose digest begins so. @param start lower-case hex */
  beginning(start: string): Promise<readonly Credential[]>;
  /** Null: there is none of this name, or it is neither open nor one that the grant is for. How long that takes does not tell which. */
  namespace(name: string, grant: Grant | null): Promise<FlagNamespace | null>;
  /** Null: it is gone, also when another one has its name now. */
  documents(namespace: FlagNamespace): Promise<Documents | null>;
  /** Changes of the namespace are told until it is released. Null: as with `documents`. */
  hold(namespace: FlagNamespace): Promise<Held | null>;
  onChange(listener: (change: FlagChange) => void): () => void;
  close(): void;
}

/** Which namespaces the grant is for, beside open ones. */
export function readerOf(grant: Grant | null): NamespaceReader {
  if (grant === null) return {};
  return grant.kind === 'token' ? { id: grant.namespace.id } : { customerId: grant.actor.customerId };
}

/** Whether its flags are open, or the grant is for it. */
export function isReadable(row: ReadNamespace, grant: Grant | null): boolean {
  const { id, customerId } = readerOf(grant);
  return row.public_read === 1 || row.id === id || row.customer_id === customerId;
}

export function namespaceOf({
  id,
  name,
  customer_id: customerId,
  public_read,
  suspended,
}: ReadNamespace): FlagNamespace {
  return { id, name, customerId, isOpen: public_read === 1, isSuspended: suspended === 1 };
}
