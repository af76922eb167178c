/** What a control process and its child that makes snapshots tell each other, as JSON over their channel. */
import { feedKey } from '../batch/feed-key.ts';
import type { HourlyKey } from '../batch/key-message.ts';

/** The first message of the parent. */
export interface StartMessage {
  readonly type: 'start';
  /** Text of the credentials file of control. */
  readonly credentials: string;
  readonly servers: readonly string[];
  /** Of the child alone. */
  readonly directory: string;
  /** Files that are put beside the snapshots. */
  readonly geoip: string;
  readonly stockMap: string;
}

export interface SentKey {
  /** Base64. */
  readonly secret: string;
  readonly from: number;
  readonly until: number;
}

export type ParentMessage =
  | StartMessage
  | { readonly type: 'keys'; readonly keys: readonly SentKey[] }
  | { readonly type: 'make' };

/** A snapshot that is at the broker. */
export interface MadeSnapshot {
  readonly epoch: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly octets: number;
  readonly partOctets: number;
}

export type ChildMessage =
  | { readonly type: 'made'; readonly snapshot: MadeSnapshot; readonly seconds: number }
  /** A view is being built, as the first one of a large database for hours. */
  | { readonly type: 'building' }
  /** @param message of the error: it holds nothing of a record */
  | { readonly type: 'failed'; readonly message: string };

export function sentKeys(keys: readonly HourlyKey[]): SentKey[] {
  return keys.map(({ key, from, until }) => ({
    secret: Buffer.from(key.secret).toString('base64'),
    from,
    until,
  }));
}

export function hourlyKeys(keys: readonly SentKey[]): HourlyKey[] {
  return keys.map(({ secret, from, until }) => ({
    key: feedKey(Uint8Array.from(Buffer.from(secret, 'base64'))),
    from,
    until,
  }));
}
