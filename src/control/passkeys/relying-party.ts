import type { Challenges } from './challenges.ts';

/** WebAuthn §4: who asks for a passkey. The id is a host name, without scheme and port. */
export interface RelyingParty {
  readonly name: string;
  readonly id: string;
  readonly origin: string;
}

export interface HasRelyingParty {
  /** Origin of the pages that use passkeys, without a trailing slash. */
  readonly publicUrl: () => string;
}

export interface HasChallenges {
  readonly challenges: Challenges;
}

/** Shown by the dialogs of browsers. */
const NAME = 'uqrp';

export function relyingParty({ publicUrl }: HasRelyingParty): RelyingParty {
  const { origin, hostname } = new URL(publicUrl());
  return { name: NAME, id: hostname, origin };
}
