/** Why a Change happened. Expiry fires no webhook; deletes, direct or by cascade, do. */
export type ChangeCause = 'direct' | 'cascade' | 'expiry';

export type ChangeBody =
  | {
      readonly type: 'record.upserted';
      readonly key: string;
      readonly namespace: string;
      readonly resource: string;
      readonly version: string;
      /** Base64, standard alphabet, padded. Null once it was erased from the log: a later change of the key follows. */
      readonly data: string | null;
      readonly contentType: string;
      readonly ttlSeconds: number;
      /** Milliseconds since the epoch, or null: never. */
      readonly expiresAt: number | null;
    }
  | { readonly type: 'record.deleted'; readonly key: string; readonly namespace: string }
  | {
      readonly type: 'namespace.upserted';
      readonly namespace: string;
      readonly id: string;
      readonly publicRead: boolean;
      readonly suspended: boolean;
      readonly recordsCount: number;
      readonly createdAt: number;
      readonly updatedAt: number;
    }
  /** From here on reads in it are refused. Its records and the namespace itself are deleted by later changes. */
  | { readonly type: 'namespace.closing'; readonly namespace: string; readonly id: string }
  | { readonly type: 'namespace.deleted'; readonly namespace: string; readonly id: string }
  /** `digest` is the lower-case hex SHA-256 of the token: the plaintext is never stored. */
  | {
      readonly type: 'token.minted';
      readonly namespace: string;
      readonly digest: string;
      readonly expiresAt: number;
    }
  | { readonly type: 'token.revoked'; readonly namespace: string; readonly digest: string };

export type ChangeType = ChangeBody['type'];

/**
 * One line of the change log, written in the same transaction as the data. `seq` is gapless and ascends in commit order;
 * `at` is milliseconds since the epoch; `owner` is the customer's id (null for an operator's own namespace).
 */
export type Change = {
  readonly seq: number;
  readonly at: number;
  readonly owner: string | null;
  readonly cause: ChangeCause;
} & ChangeBody;
