/** The one client of the API. Its credential is the session cookie, which no script can read. */
import { Uqrp } from '../../../sdk/src/uqrp-sdk.ts';
import { noteFailure } from './offline.ts';

/** Called when the API says that there is no session. */
type OnSessionLost = () => void;
let onSessionLost: OnSessionLost = () => undefined;

export function whenSessionIsLost(act: OnSessionLost): void {
  onSessionLost = act;
}

/**
 * Repeats nothing by itself: `useResource` repeats reads, and shows until when it waits; a write is repeated by the user alone.
 */
export const api = new Uqrp({
  baseUrl: location.origin,
  credentials: 'same-origin',
  retries: 0,
  fetch: async (url, init) => {
    const response = await fetch(url, init).catch((error: unknown) => {
      // A write or a stream says it too: no read may be under way.
      if (init.signal?.aborted !== true) noteFailure();
      throw error;
    });
    // Requests of the sign-in are 401 for a wrong code.
    if (response.status === 401 && !new URL(url).pathname.startsWith('/api/v1/auth/')) onSessionLost();
    return response;
  },
});
