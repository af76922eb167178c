import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Raised with `ABI` in native/udp-batch.c: a binary of another age is not used. */
const ABI = 2;

/** Offsets and sizes, in octets, of what JavaScript and kernel share. Slot i of a part is at `partAt + i * partStride`. */
export interface UdpLayout {
  /** Datagrams a batch at most. */
  readonly slots: number;
  readonly requestsAt: number;
  readonly requestOctets: number;
  readonly requestStride: number;
  readonly repliesAt: number;
  readonly replyOctets: number;
  readonly replyStride: number;
  /** A sockaddr each. */
  readonly peersAt: number;
  readonly peerStride: number;
  /** 32-bit signed; negative: nothing to look at in this slot. */
  readonly requestLengthsAt: number;
  /** 32-bit signed; 0 when a batch comes, and no reply while it stays so. */
  readonly replyLengthsAt: number;
}

/** A bound socket of this thread. */
export interface UdpEndpoint {
  readonly memory: ArrayBuffer;
  readonly host: string;
  readonly port: number;
}

/** native/udp-batch.c. */
export interface UdpAddon {
  readonly abi: number;
  readonly layout: UdpLayout;
  /**
   * @param onBatch is called with how many slots hold a request; replies in the same slots leave when it returns. With -1
   *   when `memory` was detached: nothing is received any more then
   * @returns an endpoint, or the negative number of a system error
   */
  open(
    host: string,
    port: number,
    reusePort: boolean,
    onBatch: (count: number) => void,
  ): UdpEndpoint | number;
  /** Sends the replies in the first `count` slots, each to the peer in its slot; only between two batches. */
  flush(endpoint: UdpEndpoint, count: number): void;
  /** Sends one reply to a peer of an earlier batch; nothing on a closed endpoint. */
  send(endpoint: UdpEndpoint, peer: Uint8Array, reply: Uint8Array, octets: number): void;
  close(endpoint: UdpEndpoint): void;
}

/** Where the binary of this platform is, if there is one. */
export const PREBUILT = fileURLToPath(
  new URL(`../../../../native/prebuilt/${process.platform}-${process.arch}/udp-batch.node`, import.meta.url),
);

/** The addon, or null where it is missing or cannot be used. Any number of threads may load it. */
export function loadUdpAddon(path = PREBUILT): UdpAddon | null {
  try {
    const addon = createRequire(import.meta.url)(path) as UdpAddon;
    return addon.abi === ABI ? addon : null;
  } catch {
    // No file for this platform, another C library, or a system that loads no foreign code.
    return null;
  }
}
