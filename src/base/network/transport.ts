/** Statistics use the position as an index: the order must not change. */
export const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Values of UQRP_UDP (docs/adr/01-packet-path.md). */
export const UDP_CHOICES = ['auto', 'node'] as const;
export type UdpChoice = (typeof UDP_CHOICES)[number];

export const UDP_PATHS = ['batch', 'node'] as const;
export type UdpPath = (typeof UDP_PATHS)[number];

export const CONNECTION_EVENTS = ['opened', 'closed', 'refused', 'evicted'] as const;
export type ConnectionEvent = (typeof CONNECTION_EVENTS)[number];

/** What the rate limit does to a UDP reply: `slipped` sends it with TC and without records, `dropped` sends nothing. */
export const LIMITED_EVENTS = ['dropped', 'slipped'] as const;
export type LimitedEvent = (typeof LIMITED_EVENTS)[number];
