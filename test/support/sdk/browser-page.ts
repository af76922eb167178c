import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { addAuthenticator, CHROMIUM } from '../control/passkeys/browser.ts';
import { builtPackage } from './packed.ts';

/** A page of the server's origin with the built package, as a bundler would load it. */
export interface BrowserPage {
  /** The value of an expression that knows `sdk`, the module, and `uqrp`, a client with the cookie of the page. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of the page are checked field by field
  run(expression: string): Promise<any>;
  close(): Promise<void>;
}

const PAGE = `<!doctype html><script type="module">
  window.sdk = await import('/test/dist/sdk/src/uqrp-sdk.js');
  window.uqrp = new sdk.Uqrp({ baseUrl: location.origin, credentials: 'same-origin' });
</script>`;

/** @param packed a folder with the package; without it, it is built */
export async function openPage(origin: string, packed?: string): Promise<BrowserPage> {
  const built = packed ?? (await builtPackage());
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // Continuous integration runs as root, where the sandbox of chromium cannot start.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  const page = await browser.newPage();
  await addAuthenticator(page);
  await page.route(`${origin}/test/**`, async (route) => {
    const path = new URL(route.request().url()).pathname.slice('/test/'.length);
    if (path === '') await route.fulfill({ contentType: 'text/html', body: PAGE });
    else
      await route.fulfill({ contentType: 'text/javascript', body: readFileSync(join(built, path), 'utf8') });
  });
  await page.goto(`${origin}/test/`);
  await page.waitForFunction('window.uqrp !== undefined');
  return {
    run: (expression) => page.evaluate(`(async () => await (${expression}))()`),
    close: () => browser.close(),
  };
}
