import { existsSync } from 'node:fs';
import { chromium, type Page } from 'playwright-core';

export const CHROMIUM = '/usr/bin/chromium';

// biome-ignore lint/suspicious/noExplicitAny: options and responses are JSON that the server reads
type Json = any;

/** What a page does with an authenticator, in the JSON forms of WebAuthn. */
export interface Person {
  create(options: Json): Promise<Json>;
  get(options: Json): Promise<Json>;
}

export interface Browser extends Person {
  close(): Promise<void>;
}

/** Why there is no browser here, or null. */
export function browserMissing(): string | null {
  return existsSync(CHROMIUM) ? null : `${CHROMIUM} is not installed (Debian package chromium)`;
}

/** Gives the page a virtual authenticator that verifies its user. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('WebAuthn.enable');
  await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/**
 * Debian's chromium with a virtual authenticator that verifies its user, on a page of the server.
 * @param url any page of the origin: it needs no content
 */
export async function openBrowser(url: string): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // Continuous integration runs as root, where the sandbox of chromium cannot start.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const page = await browser.newPage();
  await addAuthenticator(page);
  await page.goto(url);
  // As text: these functions run in the page, whose types are not those of Node.
  const run = (call: string, options: Json): Promise<Json> =>
    page.evaluate(`(async () => (await ${call.replace('OPTIONS', JSON.stringify(options))}).toJSON())()`);
  return {
    create: (options) =>
      run(
        'navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(OPTIONS) })',
        options,
      ),
    get: (options) =>
      run(
        'navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(OPTIONS) })',
        options,
      ),
    close: () => browser.close(),
  };
}
