/** Numbers of HTTP/2 (RFC 9113 §6, §7), with the names of the RFC. */

export const FRAME = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goaway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

export const FLAG = {
  /** On DATA and HEADERS. */
  endStream: 0x1,
  /** On SETTINGS and PING: the same bit. */
  ack: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

export const ERROR = {
  none: 0x0,
  protocol: 0x1,
  internal: 0x2,
  flowControl: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  frameSize: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compression: 0x9,
  connect: 0xa,
  enhanceYourCalm: 0xb,
} as const;

export const SETTING = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

/** The first octets of a client (RFC 9113 §3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const FRAME_HEAD_OCTETS = 9;
/** Minimum and default of SETTINGS_MAX_FRAME_SIZE. Neither side sends larger frames here. */
export const FRAME_OCTETS = 16_384;
export const DEFAULT_WINDOW = 65_535;
export const WINDOW_MAX = 0x7fff_ffff;
export const DEFAULT_TABLE_OCTETS = 4096;
export const STREAM_ID_MAX = 0x7fff_ffff;
