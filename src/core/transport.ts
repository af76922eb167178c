/** Closed sets about DNS transports, which the configuration, the edge, logs and metrics share. */

/** How a DNS message travels. Statistics use the position as an index, so the order must not change. */
export const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Values of UQRP_UDP: the native batch code where it loads, or Node's sockets always (docs/adr/0001-native-udp.md). */
export const UDP_CHOICES = ['auto', 'node'] as const;
export type UdpChoice = (typeof UDP_CHOICES)[number];

/** The code that serves UDP in a running worker. */
export const UDP_PATHS = ['batch', 'node'] as const;
export type UdpPath = (typeof UDP_PATHS)[number];

/** Values of UQRP_HTTP2: this project's HTTP/2, or Node's `node:http2` (docs/adr/0005-our-own-http2.md). */
export const HTTP2_CHOICES = ['own', 'node'] as const;
export type Http2Choice = (typeof HTTP2_CHOICES)[number];

/** What can happen to a connection. */
export const CONNECTION_EVENTS = ['opened', 'closed', 'refused', 'evicted'] as const;
export type ConnectionEvent = (typeof CONNECTION_EVENTS)[number];

/** What the rate limit does to a UDP reply: `slipped` leaves as a bare TC, `dropped` does not leave. */
export const LIMITED_EVENTS = ['dropped', 'slipped'] as const;
export type LimitedEvent = (typeof LIMITED_EVENTS)[number];
