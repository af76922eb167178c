/** All tabs of a browser share the session cookie, so a sign-in or sign-out in one tab changes whose data the others read and write. */

const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('uqrp-session') : null;

/** @param identity whose session it is from now on; null: nobody's, by a sign-out. Ids are no secrets. */
export function tellOtherTabs(identity: string | null): void {
  channel?.postMessage(identity);
}

export function whenOtherTabTells(act: (identity: string | null) => void): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    act(typeof data === 'string' ? data : null);
  });
}
