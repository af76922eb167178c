/**
 * Whether the server can be reached: how the last requests ended, and nothing else. What the browser says of the network is only a reason to
 * ask again: without a network interface it says "offline", and a server on this machine answers all the same.
 */
import { signal } from '@preact/signals';

export const isOffline = signal(false);

/** Milliseconds of performance.now(): when the last request ended without an answer. */
let failedAt = -1;

/** Told of each request that ended without an answer. */
export function noteFailure(): void {
  failedAt = performance.now();
  isOffline.value = true;
}

/**
 * Told of the answer to each read, of any kind. What was sent before the last failure says nothing: it may be an answer from before the
 * server was away, and arrive late.
 * @param sentAt milliseconds of performance.now()
 */
export function noteAnswer(sentAt: number): void {
  if (sentAt >= failedAt) isOffline.value = false;
}

/** @param readAgain called when the network goes or comes */
export function startOffline(readAgain: () => void): void {
  for (const event of ['offline', 'online']) globalThis.addEventListener(event, readAgain);
}
