/** The key of TLS session tickets: the same on all threads and, where control gives it, on all nodes of a service. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { every, type Repeating } from '../../base/lifecycle/every.ts';
import { type PeriodSecret, secretOf, TICKET_PERIOD_MS } from '../../feed/ports/node-keys.ts';

const TICKET_OCTETS = 48;
/** A key is at most this late: nodes of one address change within it. */
const LOOK_MS = 10_000;

export interface TicketKeys {
  /** For the start of the threads. */
  readonly first: Uint8Array;
  /** Changes the key every half day. Node.js takes one key: sessions of the one before begin with a full handshake. */
  rotate(use: (key: Uint8Array) => Promise<unknown>, onError: (error: unknown) => void): Repeating;
}

/** @param given by control; empty: keys are random, and recorded sessions cannot be decrypted once a key is gone */
export function ticketKeys(given: () => readonly PeriodSecret[], clock: Clock): TicketKeys {
  let own: PeriodSecret | null = null;

  function present(): Uint8Array {
    const period = Math.floor(clock() / TICKET_PERIOD_MS);
    const secret = secretOf(given(), period);
    if (secret !== null) return secret;
    if (own?.period !== period) own = { period, secret: randomBytes(TICKET_OCTETS) };
    return own.secret;
  }

  const first = present();
  return {
    first,
    rotate(use, onError) {
      let inUse = first;
      return every({
        ms: LOOK_MS,
        async task() {
          const next = present();
          if (Buffer.compare(next, inUse) === 0) return;
          await use(next);
          inUse = next;
        },
        onError,
      });
    },
  };
}
