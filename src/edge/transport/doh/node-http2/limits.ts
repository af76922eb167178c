import { HEADER_FIELDS, HELD_OCTETS, OVERHEAD, RESETS } from '../http2/limits.ts';

/**
 * Limits of a `node:http2` session: the values of our HTTP/2 where Node has an option. Beyond each Node sends GOAWAY. nghttp2
 * keeps at most 1,000 unsent acknowledgements of PING and SETTINGS. CONTINUATION counts against the header list.
 */
export const NODE_ABUSE_LIMITS = {
  /** Megabytes (10^6 octets) of a session: headers, bodies and unsent frames. Beyond it streams are refused. */
  maxSessionMemory: Math.ceil((2 * HELD_OCTETS) / 1e6),
  /** Header fields of one request. Above HEADER_FIELDS the reply is a 431; above this the stream is reset. */
  maxHeaderListPairs: 4 * HEADER_FIELDS,
  maxSettings: 32,
  maxOutstandingSettings: 4,
  /** Rapid reset (CVE-2023-44487): burst and rate per second. Our session counts first, at half. */
  streamResetBurst: 2 * RESETS.burst,
  streamResetRate: 2 * RESETS.perSecond,
  /** Refused streams before the connection ends. */
  maxSessionRejectedStreams: RESETS.burst,
  /** Faulty frames before the connection ends. */
  maxSessionInvalidFrames: OVERHEAD.burst,
} as const;
