/** Why there is no response. A closed set, so that no text of the peer gets into logs. */
export const OUTBOUND_FAULTS = [
  'timeout',
  'dns_failure',
  'connection_failed',
  'tls_error',
  'blocked_address',
  'too_large',
  // The outbound thread ended: the request may or may not have been sent.
  'interrupted',
] as const;
export type OutboundFault = (typeof OUTBOUND_FAULTS)[number];

export interface OutboundResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface OutboundFailure {
  readonly kind: 'failed';
  readonly fault: OutboundFault;
}

export type OutboundResult = OutboundResponse | OutboundFailure;

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Names in lower case. The client adds `host` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Maximum octets of the body; more is `too_large`. 0: the socket closes after the head. */
  readonly maxBytes: number;
}
