/** SETTINGS of both sides (RFC 9113 §6.5). */

import { ERROR, FRAME_OCTETS, SETTING, WINDOW_MAX } from './codes.ts';
import { HEADER_LIST_OCTETS, type Http2Limits, TABLE_OCTETS } from './limits.ts';

const ENTRY_OCTETS = 6;
const FRAME_OCTETS_MAX = 0xff_ffff;

/** A stream's window holds a body and one octet more: a body that is too long is detected, and no stream needs more. */
export function ourSettings({ streams, body }: Http2Limits): readonly (readonly [number, number])[] {
  return [
    [SETTING.headerTableSize, TABLE_OCTETS],
    [SETTING.maxConcurrentStreams, streams],
    [SETTING.initialWindowSize, body + 1],
    [SETTING.maxFrameSize, FRAME_OCTETS],
    [SETTING.maxHeaderListSize, HEADER_LIST_OCTETS],
  ];
}

export interface PeerSettings {
  headerTableSize?: number;
  initialWindowSize?: number;
}

/**
 * Reads the payload `octets[from..to)`. The last of a repeated setting counts, except the least table size (RFC 7541 §4.2).
 * @returns the settings, or the connection error
 */
export function readSettings(octets: Buffer, from: number, to: number): PeerSettings | number {
  if ((to - from) % ENTRY_OCTETS !== 0) return ERROR.frameSize;
  const settings: PeerSettings = {};
  for (let at = from; at < to; at += ENTRY_OCTETS) {
    const value = octets.readUInt32BE(at + 2);
    switch (octets.readUInt16BE(at)) {
      case SETTING.headerTableSize:
        settings.headerTableSize = Math.min(value, settings.headerTableSize ?? value);
        break;
      case SETTING.enablePush:
        if (value > 1) return ERROR.protocol;
        break;
      case SETTING.initialWindowSize:
        if (value > WINDOW_MAX) return ERROR.flowControl;
        settings.initialWindowSize = value;
        break;
      case SETTING.maxFrameSize:
        if (value < FRAME_OCTETS || value > FRAME_OCTETS_MAX) return ERROR.protocol;
        break;
      default:
    }
  }
  return settings;
}
