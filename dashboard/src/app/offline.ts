/**
 * Whether the server can be reached: how the last request ended, and nothing else. What the browser says of the network is only a reason to
 * ask again: without a network interface it says "offline", and a server on this machine answers all the same.
 */
import { signal } from '@preact/signals';

export const isOffline = signal(false);

/** Told after each read, and of each other request without an answer. @param arrived whether there was an answer of any kind */
export function noteRequest(arrived: boolean): void {
  isOffline.value = !arrived;
}

/** @param readAgain called when the network goes or comes */
export function startOffline(readAgain: () => void): void {
  for (const event of ['offline', 'online']) globalThis.addEventListener(event, readAgain);
}
