import type { DatasetItem } from './datasets/item.ts';
import type { SignedManifest } from './datasets/manifest.ts';
import type { PUBLIC_NAMESPACE } from './names/labels.ts';

/** `direct` and `cascade` fire webhooks; `expiry` does not. */
export type ChangeCause = 'direct' | 'cascade' | 'expiry';

/** What a namespace keeps of replaced and deleted values: versions of a record and days after their end, at most. */
export interface KeptHistory {
  readonly versions: number;
  readonly days: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Changes of the tenants' data. */
type HostedChange =
  | {
      readonly type: 'record.upserted';
      readonly key: string;
      readonly namespace: string;
      readonly resource: string;
      readonly version: string;
      /** Base64 with padding. Null when it was erased from the log because a later change of the key follows. */
      readonly data: string | null;
      readonly contentType: string;
      readonly ttlSeconds: number;
      /** Milliseconds since the epoch, or null: never. */
      readonly expiresAt: number | null;
      /** How answers carry the data. Absent: in Base64. Nodes of earlier releases do not know it, and answer in Base64. */
      readonly encoding?: 'plain';
      /** Of the record after this write: its entity tag. Absent where it is `at`, as usual, and in a snapshot. */
      readonly updatedAt?: number;
    }
  | { readonly type: 'record.deleted'; readonly key: string; readonly namespace: string }
  | {
      readonly type: 'namespace.upserted';
      readonly namespace: string;
      readonly id: string;
      readonly publicRead: boolean;
      readonly suspended: boolean;
      /** Seconds that caches may keep an open answer. Absent in changes of releases that had no choice: `LIMITS.openTtlDefault`. */
      readonly maxTtl?: number;
      /** Absent: none is kept, as in a snapshot and in changes of releases that did not write it. */
      readonly history?: KeptHistory;
      readonly recordsCount: number;
      readonly createdAt: number;
      readonly updatedAt: number;
    }
  /** Reads in the namespace are refused from here on. Later changes delete its records and the namespace itself. */
  | { readonly type: 'namespace.closing'; readonly namespace: string; readonly id: string }
  | { readonly type: 'namespace.deleted'; readonly namespace: string; readonly id: string }
  /** `digest` is the lower-case hex SHA-256 of the token. The plaintext is never stored. */
  | {
      readonly type: 'token.minted';
      readonly namespace: string;
      readonly digest: string;
      readonly expiresAt: number;
    }
  | { readonly type: 'token.revoked'; readonly namespace: string; readonly digest: string };

/** Changes of the dataset registry. They belong to the operator: no owner and no event. */
export type DatasetChange = {
  readonly namespace: typeof PUBLIC_NAMESPACE;
} /** Items of a version, each with all its windows. Nothing of them is served before the version is published. */ & (
  | { readonly type: 'dataset.items'; readonly versionId: string; readonly items: readonly DatasetItem[] }
  /** From here on the version is served. All its items came before. */
  | { readonly type: 'dataset.published'; readonly versionId: string; readonly manifest: SignedManifest }
  /** The version was retired, or its import was given up: manifest and items go. */
  | { readonly type: 'dataset.withdrawn'; readonly versionId: string }
  | {
      readonly type: 'dataset.key';
      readonly kid: string;
      /** Base64 of the 32 octets. */
      readonly publicKey: string;
      /** Unix second of its creation. */
      readonly since: number;
      /** Unix second from which it attests no more, or null. */
      readonly end: number | null;
    }
  /** The proof that the transparency log has a served version: a tlog-proof, which never changes. It goes with the version. */
  | { readonly type: 'log.proof'; readonly versionId: string; readonly proof: string }
  /** The newest checkpoint of the transparency log with its cosignatures: a signed note. It takes the place of the one before. */
  | { readonly type: 'log.checkpoint'; readonly checkpoint: string }
);

export type ChangeBody = HostedChange | DatasetChange;

/**
 * One line of the change log, written in the transaction that writes the data. `seq` has no gaps and ascends in commit
 * order. `at` is milliseconds since the epoch. `owner` is a customer id, or null for a namespace of the operator.
 */
export type Change = {
  readonly seq: number;
  readonly at: number;
  readonly owner: string | null;
  readonly cause: ChangeCause;
} & ChangeBody;

/** A change as a view applies it. Only one from the log has time and cause; a row of a snapshot has neither. */
export type AppliedChange = ChangeBody & Partial<Pick<Change, 'at' | 'cause'>>;
