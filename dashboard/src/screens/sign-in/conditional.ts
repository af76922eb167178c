/** Passkeys that the browser offers in the field of the address. */
import type { PasskeyAssertion, UserResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';

/**
 * Asks without a dialog: nothing is seen until the user chooses a passkey. A question has one challenge that lasts five minutes;
 * it is not asked again after that.
 * @param onFailure the server refused the chosen passkey
 * @returns abort it before any other request for a passkey, and when the form goes away
 */
export function startConditionalSignIn(
  onSignedIn: (user: UserResource) => void,
  onFailure: (error: unknown) => void,
): AbortController {
  const ending = new AbortController();
  void ask(ending.signal).then((answer) => {
    if (answer === null || ending.signal.aborted) return;
    api.auth.verifyPasskey(answer, { cookie: true }).then(({ user }) => onSignedIn(user), onFailure);
  });
  return ending;
}

/** Null: aborted, or the browser cannot do it. */
async function ask(signal: AbortSignal): Promise<PasskeyAssertion | null> {
  try {
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return null;
    const options = await api.auth.passkeyOptions({ signal });
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const made = await navigator.credentials.get({ publicKey, mediation: 'conditional', signal });
    return made === null ? null : ((made as PublicKeyCredential).toJSON() as PasskeyAssertion);
  } catch {
    // The button for passkeys and the code by mail remain.
    return null;
  }
}
