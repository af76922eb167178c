/**
 * The token of an invitation that the address of the page has, as in the link of the mail: `/organization#invitation=TOKEN`. A fragment is not
 * sent to the server. It is taken out of the address and the history at once, and kept in the memory of the page until it is used.
 */
import { signal } from '@preact/signals';

export const invitation = signal<string | null>(null);

export function takeInvitation(): void {
  const token = /^#invitation=([0-9a-f]{64})$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  invitation.value = token;
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
}
