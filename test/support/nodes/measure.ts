/** Times from an acknowledgement until every edge answers accordingly, and how times are judged on a machine that may be busy. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { UdpAnswer, UdpAsker } from '../feed/udp-asker.ts';

/**
 * A time fails the run when it is this many times its limit. The machine that runs it may be busy with everything at once: control, broker,
 * database, three nodes and those who ask. What is over its limit is printed as that.
 */
const BUSY = 4;

/** @returns what to report: nothing within the limit, and a fault when it is far above */
export function compareWithLimit(
  what: string,
  ms: number,
  limitMs: number,
): { readonly note: string | null; readonly fault: string | null } {
  const text = `${what}: ${Math.round(ms)} ms, the limit is ${limitMs}`;
  return { note: ms > limitMs ? `OVER ${text}` : null, fault: ms > limitMs * BUSY ? text : null };
}

/** An attack and its probes take turns with whatever else the machine does: what waits for it once without the attack waits several times with it. */
const QUIET_TIMES = 4;

/**
 * For a time under attack: beyond its limit it may be late by what the machine makes of the same without the attack, in the same run.
 * @param quietMs the same figure without the attack, of right before and right after it the smaller one: what an attack leaves behind explains nothing
 * @returns what to report: nothing within the limit, and a fault beyond what the machine explains
 */
export function compareWithQuiet(
  what: string,
  ms: number,
  limitMs: number,
  quietMs: number,
): { readonly note: string | null; readonly fault: string | null } {
  const text = `${what}: ${Math.round(ms)} ms, the limit is ${limitMs}, without the attack ${Math.round(quietMs)}`;
  const allowed = limitMs + QUIET_TIMES * quietMs;
  return { note: ms > limitMs ? `OVER ${text}` : null, fault: ms > allowed ? text : null };
}

/** Milliseconds between two questions for the same thing. */
const STEP_MS = 4;
const PATIENCE_MS = 30_000;

/** Asks all until each answer is right. @returns milliseconds until the slowest one */
export async function untilAll(
  askers: readonly UdpAsker[],
  name: string,
  isRight: (answer: UdpAnswer) => boolean,
): Promise<number> {
  const began = performance.now();
  async function until(asker: UdpAsker): Promise<void> {
    for (;;) {
      const answer = await asker.ask(name);
      if (answer !== null && isRight(answer)) return;
      if (performance.now() - began > PATIENCE_MS) throw new Error(`${name}: not right within 30 s`);
      await sleep(STEP_MS);
    }
  }
  await Promise.all(askers.map(until));
  return performance.now() - began;
}

export interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

export function timesOf(values: readonly number[]): Times {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return { p50: Math.round(at(0.5)), p99: Math.round(at(0.99)), most: Math.round(sorted.at(-1)!) };
}

/** Whether a condition became true in time; it may throw meanwhile. */
export async function waitFor(
  what: string,
  check: () => Promise<boolean>,
  withinMs = PATIENCE_MS,
): Promise<number> {
  const began = performance.now();
  for (;;) {
    if (await check().catch(() => false)) return performance.now() - began;
    if (performance.now() - began > withinMs) throw new Error(`${what}: not within ${withinMs} ms`);
    await sleep(20);
  }
}
