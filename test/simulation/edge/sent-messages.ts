/**
 * What every process sends over the broker. The number of a message is the nonce of its body, so it is in no other message; and an hourly
 * key has an end, after which nobody writes under it, however wrong clocks are and whoever was cut off.
 */
import type { Bus } from '../../../src/feed/bus/bus.ts';
import { InvariantError } from '../invariants.ts';

export interface SentMessages {
  /** The bus of one process, watched. */
  watch(bus: Bus): Bus;
}

interface SentMessagesOptions {
  /** True time, milliseconds since the epoch. */
  readonly now: () => number;
  readonly wrong: (error: unknown) => void;
  /** Id of the key between control processes and the command line, which has no end. */
  readonly operatorKey: Uint8Array;
}

/** Where the fields of a message are (src/feed/message/message.ts). */
const FLAGS_AT = 6;
const NUMBER_AT = 16;
const NAMES_AT = 36;
const ANSWERS = 1;
const HOURLY = 2;
/** An hour to write, two to read, and an hour that a clock may be wrong. */
const KEY_LIFE_MS = 4 * 3_600_000;

export function createSentMessages({ now, wrong, operatorKey }: SentMessagesOptions): SentMessages {
  const endless = Buffer.from(operatorKey).toString('latin1');
  const byNumber = new Map<string, Uint8Array>();
  /** First use of each key. */
  const keys = new Map<string, number>();

  function sent(data: Uint8Array): void {
    const message = Buffer.from(data.buffer, data.byteOffset, data.length);
    if (message.toString('latin1', 0, 4) !== 'UQRP') return;
    const number = message.toString('latin1', NUMBER_AT, NUMBER_AT + 12);
    const known = byNumber.get(number);
    if (known !== undefined) {
      // The same octets go live and into the stream.
      if (!message.equals(known)) wrong(new InvariantError('one number in two messages'));
      return;
    }
    byNumber.set(number, data);
    if ((message[FLAGS_AT]! & HOURLY) === 0) return;
    const key = keyIn(message);
    if (key === endless) return;
    const since = keys.get(key) ?? now();
    keys.set(key, since);
    if (now() - since > KEY_LIFE_MS) wrong(new InvariantError('a message under a key that has ended'));
  }

  return {
    watch: (bus) => ({
      ...bus,
      publish(subject, data) {
        sent(data);
        bus.publish(subject, data);
      },
      request(subject, data, timeoutMs) {
        sent(data);
        return bus.request(subject, data, timeoutMs);
      },
      respond: (subject, handler) =>
        bus.respond(subject, async (data, sentTo) => {
          const answer = await handler(data, sentTo);
          if (answer !== null) sent(answer);
          return answer;
        }),
      append(data, expectedLast) {
        sent(data);
        return bus.append(data, expectedLast);
      },
    }),
  };
}

function keyIn(message: Buffer): string {
  let at = NAMES_AT;
  at += 1 + message[at]!;
  at += 1 + message[at]!;
  if ((message[FLAGS_AT]! & ANSWERS) !== 0) at += 32;
  at += 4 + message.readUInt32BE(at);
  return message.toString('latin1', at, at + 16);
}
