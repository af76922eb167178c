/** Whether the server can be reached: what the browser says, and how the last request ended. */
import { computed, signal } from '@preact/signals';

const browserSaysOnline = signal(navigator.onLine);
const lastRequestArrived = signal(true);

export const isOffline = computed(() => !browserSaysOnline.value || !lastRequestArrived.value);

/** Told after each read. @param arrived whether there was an answer of any kind */
export function noteRequest(arrived: boolean): void {
  lastRequestArrived.value = arrived;
}

/** @param onReturn called when the browser is online again */
export function startOffline(onReturn: () => void): void {
  globalThis.addEventListener('offline', () => {
    browserSaysOnline.value = false;
  });
  globalThis.addEventListener('online', () => {
    browserSaysOnline.value = true;
    onReturn();
  });
}
