/** Operations of the query surface. `put` and `delete` are not DNS operations. */
export const OPERATIONS = ['get', 'info', 'geoip', 'manifest', 'identity'] as const;

export type Operation = (typeof OPERATIONS)[number];

/**
 * One question, parsed. Made once per question, and the only thing past the parser that knows the name. Everything is in
 * lower case, but for `b64-` params of public services. It holds no address of whoever asks, so no answer can depend on one.
 */
export interface Query {
  readonly operation: Operation;
  /** The presented query token without its `auth-`, or null. Opaque: only ever hashed. */
  readonly token: string | null;
  /** Labels between operation (and token) and resource. */
  readonly params: readonly string[];
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  /** Storage key: `[<params>.]<resource>.<namespace>.<version>`, without operation and token. */
  readonly key: string;
}
