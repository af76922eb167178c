/** Settings of this browser: the only thing that is stored. No secret, no data of the account. */

type Setting = 'theme' | 'shortcuts' | 'checklist' | 'passkey-offer' | 'live';

/** Null: not set, or the browser allows no storage. */
export function readSetting(name: Setting): string | null {
  try {
    return localStorage.getItem(`uqrp.${name}`);
  } catch {
    return null;
  }
}

/** Null removes it. Without storage the setting lasts as long as the page. */
export function writeSetting(name: Setting, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`uqrp.${name}`);
    else localStorage.setItem(`uqrp.${name}`, value);
  } catch {
    // Storage is switched off or full.
  }
}
