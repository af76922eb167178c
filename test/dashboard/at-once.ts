/** What a screen shows holds as soon as it is drawn: its focus, its keys, its questions. Nobody waits for a frame or for a slow answer. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { account } from '../support/server-process.ts';

/** Runs a script of the page when the heading or a text of the page is drawn, before its next frame. @returns what the script gives */
function whenDrawn(page: Page, text: string, script: string): Promise<unknown> {
  return page.evaluate(`new Promise((done) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('main')?.textContent.includes(${JSON.stringify(text)})) return;
      observer.disconnect();
      done(${script});
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  })`);
}

const FOCUSED = "document.activeElement.localName + ' ' + document.activeElement.textContent";
const press = (key: string): string =>
  `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }))`;

/** Holds the answers to requests back. @returns lets them through */
async function held(page: Page, path: RegExp): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(path, async (route) => {
    await promise;
    // The page may have gone on meanwhile.
    await route.continue().catch(() => undefined);
  });
  return async () => {
    resolve();
    await page.unroute(path);
  };
}

browserTest(
  'at once',
  (get) => {
    it('the focus is on the heading of a screen', async () => {
      const { server, page, signIn } = get();
      const ada = account(server, 'ada@example.net', 'pro');
      await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      const webhook = { name: 'mirror', url: 'https://hooks.example.com/in', events: ['record.upserted'] };
      await ada.call('POST', '/webhooks', { webhook });
      await signIn();
      // The second visit: its script is loaded.
      await page.getByRole('link', { name: 'Namespaces' }).first().click();
      await page.getByRole('rowheader', { name: 'acme' }).waitFor();
      await page.getByRole('link', { name: 'Usage' }).first().click();
      await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
      const drawn = whenDrawn(page, 'New namespace', FOCUSED);
      await page.getByRole('link', { name: 'Namespaces' }).first().click();
      assert.equal(await drawn, 'h1 Namespaces');
    });

    it('the focus stays on the heading when a screen that was loading is there', async () => {
      const { page } = get();
      const focused = (name: string) =>
        page.getByRole('heading', { level: 1, name, exact: true }).and(page.locator(':focus'));
      await page.getByRole('link', { name: 'Webhooks' }).first().click();
      const goOn = await held(page, /\/webhooks\/[^/?]+$/);
      await page.getByRole('link', { name: 'mirror' }).click();
      await focused('Webhook').waitFor();
      await goOn();
      await focused('mirror').waitFor();
    });

    it('the focus stays on the heading of the organization, when the page learns what the server has', async () => {
      const { page, origin } = get();
      const goOn = await held(page, /\/meta$/);
      await page.goto(`${origin}/usage`);
      await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('m');
      const heading = page
        .getByRole('heading', { level: 1, name: 'Organization' })
        .and(page.locator(':focus'));
      await heading.waitFor();
      await goOn();
      await page.getByRole('button', { name: 'New organization' }).waitFor();
      await heading.waitFor();
    });

    it('its keys work', async () => {
      const { page } = get();
      const drawn = whenDrawn(page, 'New namespace', press('c'));
      await page.getByRole('link', { name: 'Namespaces' }).first().click();
      await drawn;
      const dialog = page.getByRole('dialog', { name: 'New namespace' });
      await dialog.waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });

    it('the row that the keyboard goes to has the focus, and takes its next key', async () => {
      const { page } = get();
      await page.getByRole('rowheader', { name: 'acme' }).waitFor();
      const focused = await page.evaluate(`${press('j')}, document.activeElement.role`);
      assert.equal(focused, 'row');
    });

    it('a new record waits for the namespaces, and then has the focus in its key', async () => {
      const { page, origin } = get();
      const goOn = await held(page, /\/api\/v1\/namespaces(?:\?|$)/);
      await page.goto(`${origin}/records`);
      await page.getByRole('heading', { level: 1, name: 'Records' }).waitFor();
      await page.getByRole('button', { name: 'New record' }).first().isEnabled();
      await page.keyboard.press('c');
      assert.equal(await page.getByText('You have no namespace').count(), 0);
      await goOn();
      const key = page.getByRole('dialog', { name: 'New record' }).getByRole('textbox', { name: 'Key' });
      await key.and(page.locator(':focus')).waitFor();
      await page.keyboard.press('Escape');
    });

    it('a page that says that its import is done asks nobody who leaves', async () => {
      const { page, origin } = get();
      const asked: string[] = [];
      page.on('dialog', (dialog) => {
        asked.push(dialog.message());
        void dialog.dismiss();
      });
      await page.goto(`${origin}/records/import`);
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: /file/i }).press('Enter');
      const buffer = Buffer.from('key,value\nsku-8.price.acme.v1,8\n');
      await (await chooser).setFiles({ name: 'prices.csv', mimeType: 'text/csv', buffer });
      const left = whenDrawn(page, 'Done: 1 written.', "document.querySelector('nav a').click()");
      await page.getByRole('button', { name: 'Import 1 record' }).press('Enter');
      await left;
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      assert.deepEqual(asked, []);
    });
  },
  { UQRP_ORGANIZATIONS: 'on', UQRP_RESOLVERS: '127.0.0.1:1' },
);
