/** DNS has no `put` and no `delete`. */
export const OPERATIONS = ['get', 'info', 'geoip', 'manifest', 'identity'] as const;

export type Operation = (typeof OPERATIONS)[number];

/** A parsed question, in lower case except `b64-` params. Without a client address: no answer can depend on one. */
export interface Query {
  readonly operation: Operation;
  /** The query token without `auth-`, or null. It is only ever hashed. */
  readonly token: string | null;
  /** Labels between the operation (and token) and the resource. */
  readonly params: readonly string[];
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  /** Storage key `[<params>.]<resource>.<namespace>.<version>`. */
  readonly key: string;
}
