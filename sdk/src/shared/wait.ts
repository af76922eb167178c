const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;

/** Milliseconds before the next attempt: exponential backoff with full jitter. @param failures so far, from 1 */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  return random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
}

/** A program is not stopped for longer by a header. Also, `setTimeout` takes more than 24 days as 1 ms. */
const RETRY_AFTER_MAX_MS = 300_000;

/**
 * Milliseconds before the next attempt: what the server asks for, but not less than the backoff.
 * @param failures so far, from 1
 * @param retryAfter seconds that the server asks for; null: it asks for nothing
 */
export function pauseMs(
  failures: number,
  retryAfter: number | null,
  random: () => number = Math.random,
): number {
  const backoff = backoffMs(failures, random);
  return retryAfter === null ? backoff : Math.min(Math.max(backoff, retryAfter * 1000), RETRY_AFTER_MAX_MS);
}

/** Resolves after the time. Rejects with the signal's reason when it aborts first. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** `Retry-After` in whole seconds. Null when there is none, or none that can be read. */
export function retryAfterOf(headers: Headers, now: number = Date.now()): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000));
}
