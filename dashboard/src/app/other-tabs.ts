/** All tabs of a browser share the session cookie, so a sign-in or sign-out in one tab changes whose data the others read and write. */

const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('uqrp-session') : null;

/** @param userId who is signed in from now on; null: nobody. An id is no secret. */
export function tellOtherTabs(userId: string | null): void {
  channel?.postMessage(userId);
}

export function whenOtherTabTells(act: (userId: string | null) => void): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    act(typeof data === 'string' ? data : null);
  });
}
