/** Statistics use the position as an index: the order must not change. */
export const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Values of UQRP_UDP (docs/adr/0001-native-udp.md). */
export const UDP_CHOICES = ['auto', 'node'] as const;
export type UdpChoice = (typeof UDP_CHOICES)[number];

export const UDP_PATHS = ['batch', 'node'] as const;
export type UdpPath = (typeof UDP_PATHS)[number];

/** Values of UQRP_HTTP2: `own` is this project's HTTP/2, `node` is `node:http2` (docs/adr/0005-our-own-http2.md). */
export const HTTP2_CHOICES = ['own', 'node'] as const;
export type Http2Choice = (typeof HTTP2_CHOICES)[number];

export const CONNECTION_EVENTS = ['opened', 'closed', 'refused', 'evicted'] as const;
export type ConnectionEvent = (typeof CONNECTION_EVENTS)[number];

/** What the rate limit does to a UDP reply: `slipped` sends it with TC and without records, `dropped` sends nothing. */
export const LIMITED_EVENTS = ['dropped', 'slipped'] as const;
export type LimitedEvent = (typeof LIMITED_EVENTS)[number];
