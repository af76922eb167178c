import { DEFAULT_WINDOW } from '../codes.ts';
import { CONNECTION_WINDOW } from '../limits.ts';

/** WINDOW_UPDATE is sent for a large part of the window, not for every frame. */
const WORTH_SAYING = CONNECTION_WINDOW / 4;

/** Octets that a peer may still send on the connection (RFC 9113 §5.2). */
export class ReceiveWindow {
  #left = DEFAULT_WINDOW;
  /** Not announced yet. The protocol begins with less than our window. */
  #owed = CONNECTION_WINDOW - DEFAULT_WINDOW;

  /** @returns false when the peer sends more than it may */
  take(octets: number): boolean {
    this.#left -= octets;
    return this.#left >= 0;
  }

  giveBack(octets: number): void {
    this.#owed += octets;
  }

  /** The increment to send now, or 0. */
  due(): number {
    const octets = this.#owed;
    if (octets < WORTH_SAYING) return 0;
    this.#owed = 0;
    this.#left += octets;
    return octets;
  }
}
