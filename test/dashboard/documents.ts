/** The documents: index, search, copy, theme, on a phone, without a session. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../e2e/client.ts';
import { browserTest } from '../support/browser/dashboard.ts';

browserTest('documents', (get) => {
  it('are open to visitors, and the index leads from one to the next', async () => {
    const { page, origin, axe, shot } = get();
    await page.goto(`${origin}/docs`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const index = page.getByRole('navigation', { name: 'Documents' });
    await index.getByRole('link', { name: 'Protocol' }).click();
    await page.getByRole('heading', { level: 1, name: 'Protocol' }).waitFor();
    assert.equal(await index.getByRole('link', { name: 'Protocol' }).getAttribute('aria-current'), 'page');
    assert.equal(new URL(page.url()).pathname, '/docs/protocol');
    await axe('documents');
    await shot('documents');
    await page.locator('a[rel="next"]').click();
    await page.getByRole('heading', { level: 1, name: 'Datasets' }).waitFor();
    for (const [name, path] of [
      ['Services', '/services'],
      ['Playground', '/playground'],
      ['API', '/api'],
      ['Docs', '/docs'],
    ] as const) {
      const link = page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name, exact: true });
      assert.equal(await link.getAttribute('href'), path);
    }
    assert.equal(
      await page.getByRole('link', { name: 'Sign in', exact: true }).getAttribute('href'),
      '/sign-in',
    );
  });

  it('are searched by typing; the index of words is loaded at the first key', async () => {
    const { page, origin, axe } = get();
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(`${origin}/docs/api`);
    await page.getByRole('heading', { level: 1, name: 'REST API' }).waitFor();
    await page.keyboard.press('/');
    assert.equal(await page.evaluate('document.activeElement.id'), 'search');
    assert.equal(
      loaded.some((path) => path.includes('search-')),
      false,
    );
    await page.keyboard.type('back up');
    const found = page.locator('#found');
    await found.getByRole('link', { name: 'Back up', exact: true }).waitFor();
    assert.equal(loaded.filter((path) => path.includes('search-')).length, 1);
    await axe('what the search finds');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Back up' }).waitFor();
    // The page is there before its script, which takes the key.
    await page.waitForLoadState();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('zebra');
    await page.locator('#found').getByText('No page has “zebra”.').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#found').isVisible(), false);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('UQRP_DOH_P');
    await page
      .locator('#found')
      .getByRole('link', { name: /Variables/ })
      .first()
      .press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Variables' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#environment');
  });

  it('give commands for this server to copy, of a session only what is typed', async () => {
    const { page, origin, server, context } = get();
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await page.goto(`${origin}/docs/services`);
    const snippet = page.locator('.snippet').filter({ hasText: 'units.public.v1' }).first();
    await snippet.hover();
    await snippet.getByRole('button', { name: 'Copy' }).click();
    await snippet.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    assert.match(copied, new RegExp(`dig @127\\.0\\.0\\.1 -p ${server.ports.dns} `));
    await page.goto(`${origin}/docs/devices`);
    const session = page.locator('.snippet').filter({ hasText: '$ ./example' }).first();
    await session.hover();
    await session.getByRole('button', { name: 'Copy' }).click();
    await session.getByRole('button', { name: 'Copied' }).waitFor();
    const typed = String(await page.evaluate('navigator.clipboard.readText()'));
    assert.match(typed, /^\.\/example 127\.0\.0\.1 \d+ greeting\.acme\.v1$/m);
    assert.doesNotMatch(typed, /^\$ /m);
  });

  it('keep the theme, which is that of the dashboard', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/docs`);
    await page.getByRole('button', { name: 'Theme: as the system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    assert.equal(await page.evaluate("localStorage.getItem('uqrp.theme')"), 'dark');
    const shown = page.locator('article picture img').first();
    await shown.scrollIntoViewIfNeeded();
    await eventually(async () =>
      String(await page.evaluate("document.querySelector('article picture img').currentSrc")).endsWith(
        '/landing-dark.png',
      ),
    );
    await page.reload();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    assert.equal(await page.evaluate('document.documentElement.style.colorScheme'), 'dark');
    await page.getByRole('button', { name: 'Theme: dark' }).click();
    assert.equal(await page.evaluate("localStorage.getItem('uqrp.theme')"), null);
  });

  it('have their index behind a button on a phone, and a page for an address without one', async () => {
    const { page, origin, axe, allow } = get();
    allow(/404/);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin}/docs/no-such-page`);
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    const index = page.getByRole('navigation', { name: 'Documents' });
    assert.equal(await index.isVisible(), false);
    const button = page.getByRole('button', { name: 'Documents' });
    await button.click();
    assert.equal(await button.getAttribute('aria-expanded'), 'true');
    await index.getByRole('link', { name: 'Glossary' }).click();
    await page.getByRole('heading', { level: 1, name: 'Glossary' }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await axe('glossary');
  });
});
