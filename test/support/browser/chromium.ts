import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM } from '../control/passkeys/browser.ts';

/** No sandbox, because continuous integration runs as root. Nothing that chromium would ask the Internet by itself. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}
