/** What the model is told: requests and answers as customers and operators know them, and what anybody saw. Times are real milliseconds. */

/** Clock of the process that did something, at the beginning and at the end of it. */
export interface ClockRange {
  readonly from: number;
  readonly to: number;
}

export interface Request {
  /** Customer, and within that the credential. */
  readonly account: string;
  readonly credential: string;
  readonly method: string;
  /** Below /api/v1, with its query. */
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: JSON, read field by field
  readonly body?: any;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RestAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON, read field by field
  readonly body: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** What a node says of itself beside an answer. */
export interface NodeClaim {
  /** Another one: the database was restored, and the node may go back in time. */
  readonly epoch: string | null;
  /** The node has everything that was committed before this real time; null: it does not claim it (stale, or lost). */
  readonly currentAt: number | null;
}

export interface DnsAnswer {
  readonly node: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly clock: ClockRange;
  readonly claim: NodeClaim;
  /** Key of the record in lower case: what stands between the operation (and token) and the zone. */
  readonly key: string;
  readonly token: string | null;
  /** Only `TXT` has answers. */
  readonly type: string;
  readonly rcode: string;
  /** Of TXT records of the answer section: joined strings. */
  readonly answers: readonly { readonly text: string; readonly ttl: number }[];
}

export interface WebhookRequest {
  readonly at: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The endpoint's clock, which is right. What it answers; null: nothing in time. */
  readonly status: number | null;
}

export class ModelError extends Error {
  override readonly name = 'ModelError';
}
