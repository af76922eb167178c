/** Why there is no response. A closed set: no text of the peer leaves this folder in an error. */
export const OUTBOUND_FAULTS = [
  'timeout',
  'dns_failure',
  'connection_failed',
  'tls_error',
  'blocked_address',
  'too_large',
  // The outbound thread ended: nothing is known about the peer, and the request may or may not have been made.
  'interrupted',
] as const;
export type OutboundFault = (typeof OUTBOUND_FAULTS)[number];

export interface OutboundResponse {
  readonly kind: 'response';
  /** 200 to 599; a redirect is a response like any other. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Empty where only the head was wanted. */
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
  /** Names in lower case. `host` and `content-length` are added by the client. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Octets of the body that are read at most; more is `too_large`. 0: the socket closes after the head. */
  readonly maxBytes: number;
}
