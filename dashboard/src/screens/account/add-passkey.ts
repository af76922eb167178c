import { api } from '../../app/client.ts';
import { invalidate } from '../../data/resource.ts';
import { deviceName, newName } from './device-name.ts';

/** Whether this browser, on a page of this address, can make passkeys. */
export function canMakePasskeys(): boolean {
  return typeof globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON === 'function';
}

/** Asks the browser for a passkey. @throws DOMException when the user declines */
export async function addPasskey(): Promise<void> {
  const known = await api.passkeys.list();
  const name = newName(
    deviceName(navigator.userAgent),
    known.map((one) => one.name),
  );
  await api.passkeys.add(name);
  invalidate('passkeys');
}
