/** Where a write stands in the feed, as its customer carries it: the value of `X-Service-Seq`. */
import type { SecretEncryption } from '../../base/secret-encryption.ts';

export interface Position {
  /** Of the last change of the write. */
  readonly seq: number;
  /** When the write began, milliseconds since the epoch. */
  readonly at: number;
}

export interface Positions {
  /** Different at each call: numbers of changes would tell how much other customers write between two writes. */
  text(customerId: string, position: Position): string;
  /** Null: it is not a position of this customer. */
  read(customerId: string, text: string): Position | null;
}

/** Letters of the longest position, and more than any has. */
const TEXT_MAX = 128;

export function openPositions(encryption: SecretEncryption): Positions {
  return {
    text(customerId, { seq, at }) {
      return Buffer.from(encryption.encrypt(customerId, `${seq} ${at}`)).toString('base64url');
    },
    read(customerId, text) {
      if (text.length > TEXT_MAX) return null;
      try {
        const [seq = '', at = ''] = encryption.decrypt(customerId, Buffer.from(text, 'base64url')).split(' ');
        return { seq: Number(seq), at: Number(at) };
      } catch {
        return null;
      }
    },
  };
}
