/** What is around every screen: navigation, palette, shortcuts, focus, offline. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest, effectsRan } from '../support/browser/dashboard.ts';

browserTest('shell', (get) => {
  it('the palette goes to a page, and the focus to its heading', async () => {
    const { page, signIn, axe, shot } = get();
    await signIn();
    await effectsRan(page);
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Go to' }).getByRole('combobox');
    await palette.and(page.locator(':focus')).waitFor();
    await axe('palette');
    await shot('palette');
    await page.keyboard.type('acc');
    await page.keyboard.press('Enter');
    const heading = page.getByRole('heading', { level: 1, name: 'Account' });
    await heading.waitFor();
    await page.locator('h1:focus').waitFor();
    assert.equal(await page.title(), 'Account · uqrp');
  });

  it('the help lists the keys, closes by Esc and gives the focus back', async () => {
    const { page, axe, shot } = get();
    const button = page.getByRole('button', { name: 'Keyboard shortcuts' });
    await button.focus();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Go to Overview').waitFor();
    await axe('shortcuts');
    await shot('shortcuts');
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.locator('[aria-label="Keyboard shortcuts"]:focus').waitFor();
  });

  it('the history goes back and forth, and an unknown page says so', async () => {
    const { page, origin, axe } = get();
    await page.goto(`${origin}/`);
    await page.getByRole('link', { name: 'Account', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    await page.goto(`${origin}/no-such-page`);
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    await axe('not found');
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
  });

  it('a page that was open during an upgrade offers to be loaded again', async () => {
    const { context, origin, allow } = get();
    const page = await context.newPage();
    await page.goto(`${origin}/`);
    const link = page.getByRole('link', { name: 'API keys', exact: true });
    await link.waitFor();
    // The scripts of before are gone.
    allow(/404 .*\/assets\//);
    await page.route('**/assets/**', (route) => route.fulfill({ status: 404 }));
    await link.click();
    await page.getByRole('alert').getByText('another version of this page').waitFor();
    await page.unroute('**/assets/**');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await page.close();
  });

  it('the keyboard alone reaches the content and the navigation', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/account`);
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    for (const name of ['Add a passkey', 'Delete account'])
      await page.getByRole('button', { name }).first().waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content');
    const seen = new Set<unknown>();
    for (let tabs = 0; tabs < 25; tabs++) {
      await page.keyboard.press('Tab');
      seen.add(await page.evaluate('document.activeElement.textContent'));
    }
    for (const name of ['Overview', 'Query log', 'Add a passkey', 'Delete account'])
      assert.ok(seen.has(name), name);
  });

  it('offline is said, and over when the network is back', async () => {
    const { page, context, allow } = get();
    allow(/ERR_INTERNET_DISCONNECTED/);
    await context.setOffline(true);
    const bar = page.getByText('The server cannot be reached. What you see is from before');
    await bar.waitFor();
    await context.setOffline(false);
    await bar.waitFor({ state: 'detached' });
  });

  it('a browser without a network says nothing while the server on this machine answers (operator finding 7)', async () => {
    const { page } = get();
    const bar = page.getByText('The server cannot be reached.');
    const asked = page.waitForResponse((response) => response.url().includes('/api/v1/'));
    await page.evaluate(
      "Object.defineProperty(navigator, 'onLine', { get: () => false, configurable: true }); dispatchEvent(new Event('offline'))",
    );
    assert.equal((await asked).ok(), true);
    await effectsRan(page);
    assert.equal(await bar.count(), 0);
    await page.evaluate('delete navigator.onLine');
  });

  it('phones have four places and the others behind a button', async () => {
    const { page, origin } = get();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin}/`);
    const nav = page.getByRole('navigation', { name: 'Main' });
    await nav.getByRole('link', { name: 'Playground' }).waitFor();
    assert.equal(await nav.getByRole('link').count(), 4);
    await nav.getByRole('button', { name: 'More' }).click();
    await nav.getByRole('link', { name: 'Account' }).click();
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});
