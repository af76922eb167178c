/** Asks every edge all the time, through every fault, and remembers what should not have been answered. */
import type { UdpAnswer, UdpAsker } from '../feed/udp-asker.ts';

export interface Prober {
  /** A name that must have this payload, from an edge that answers. */
  expect(name: string, payload: string): void;
  /** A name that must be refused. */
  expectRefused(name: string): void;
  readonly answers: number;
  /** Questions without a reply: the edge was down. */
  readonly silent: number;
  readonly wrong: readonly string[];
  stop(): Promise<void>;
}

/** Questions a second, over all edges. */
const RATE = 50;
const WAIT_MS = 2_000;

export function startProber(askers: readonly UdpAsker[]): Prober {
  const expected: { readonly name: string; readonly payload: string | null }[] = [];
  const wrong: string[] = [];
  const underWay = new Set<Promise<void>>();
  let answers = 0;
  let silent = 0;
  let turn = 0;

  function isRight(answer: UdpAnswer, payload: string | null): boolean {
    return payload === null
      ? answer.rcode === 'REFUSED' && answer.payload === null
      : answer.rcode === 'NOERROR' && answer.payload === payload;
  }

  async function askOnce(at: number): Promise<void> {
    const edge = at % askers.length;
    const { name, payload } = expected[Math.floor(at / askers.length) % expected.length]!;
    const answer = await askers[edge]!.ask(name, WAIT_MS);
    if (answer === null) silent++;
    else if (isRight(answer, payload)) answers++;
    else wrong.push(`${name} of edge ${edge}: ${answer.rcode} ${answer.payload}, not ${payload}`);
  }

  const timer = setInterval(() => {
    if (expected.length === 0) return;
    const asked = askOnce(turn++).finally(() => underWay.delete(asked));
    underWay.add(asked);
  }, 1_000 / RATE);

  return {
    expect: (name, payload) => expected.push({ name, payload }),
    expectRefused: (name) => expected.push({ name, payload: null }),
    get answers() {
      return answers;
    },
    get silent() {
      return silent;
    },
    wrong,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
