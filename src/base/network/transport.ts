/** Statistics use the position as an index: the order must not change. */
export const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Values of UQRP_UDP (docs/adr/01-packet-path.md). */
export const UDP_CHOICES = ['auto', 'node'] as const;
export type UdpChoice = (typeof UDP_CHOICES)[number];

export const UDP_PATHS = ['batch', 'node'] as const;
export type UdpPath = (typeof UDP_PATHS)[number];

/** Values of UQRP_XDP_MODE: how a program is attached to an interface (docs/adr/18-below-the-sockets.md). Their positions are numbers of native/xdp.h. */
export const XDP_MODES = ['auto', 'native', 'generic'] as const;
export type XdpMode = (typeof XDP_MODES)[number];

/** Why no packet is received below the sockets. */
export const XDP_FAULTS = [
  'no_native_code',
  'no_loader',
  'not_allowed',
  'no_permission',
  'no_interface',
  'no_queue',
  'busy',
  'vlan',
  'small_mtu',
  'locked_memory',
  'not_supported',
  'loader_ended',
  'interface_down',
  'other',
] as const;
export type XdpFault = (typeof XDP_FAULTS)[number];

/** What became of one queue of an interface: attached with a mode, refused, or no longer attached. `at`: place of the interface in UQRP_XDP, from 1. */
export type XdpChange = { readonly at: number } & (
  | { readonly type: 'attached'; readonly mode: Exclude<XdpMode, 'auto'> }
  | { readonly type: 'refused' | 'detached'; readonly reason: XdpFault }
);

export const CONNECTION_EVENTS = ['opened', 'closed', 'refused', 'evicted'] as const;
export type ConnectionEvent = (typeof CONNECTION_EVENTS)[number];

/** What the rate limit does to a UDP reply: `slipped` sends it with TC and without records, `dropped` sends nothing. */
export const LIMITED_EVENTS = ['dropped', 'slipped'] as const;
export type LimitedEvent = (typeof LIMITED_EVENTS)[number];
