/** The palette does the work: records, forms, names, places and documents, by keyboard alone. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest, effectsRan } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

browserTest('palette', (get) => {
  let ada: Account;

  it('the palette finds records, opens forms, asks names and shows what was visited', async () => {
    const { page, server, signIn, axe } = get();
    ada = account(server, 'ada@example.net', 'pro');
    for (const name of ['acme', 'shop']) await ada.call('POST', '/namespaces', { namespace: { name } });
    await ada.call('POST', '/records', {
      record: { key: 'eve.dark-mode.acme.v1', data: 'b24=', content_type: 'text/plain' },
    });
    await signIn();
    const palette = page.getByRole('dialog', { name: 'Go to' });
    const choose = async (typed: string, option: string): Promise<void> => {
      await effectsRan(page);
      await page.keyboard.press('Control+k');
      await palette.getByRole('combobox').and(page.locator(':focus')).waitFor();
      await page.keyboard.type(typed);
      await palette.getByRole('option', { name: option }).waitFor();
      if (typed === 'dark-mode') await axe('a record in the palette');
      const chosen = palette.getByRole('option', { selected: true });
      for (let steps = 0; !(await chosen.innerText()).startsWith(option) && steps < 12; steps += 1)
        await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await palette.waitFor({ state: 'detached' });
    };
    // The resource stands in the middle of the key.
    await choose('dark-mode', 'eve.dark-mode.acme.v1');
    await page.getByRole('dialog', { name: 'eve.dark-mode.acme.v1' }).waitFor();
    await page.keyboard.press('Escape');
    await choose('new record in acme', 'New record in acme');
    const form = page.getByRole('dialog', { name: 'New record' });
    await form.getByRole('textbox', { name: 'Key' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('motd');
    await form.getByText('motd.acme.v1').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard' }).press('Enter');
    await form.waitFor({ state: 'detached' });
    await choose('> mint shop', 'Mint a token for shop');
    await page.getByRole('dialog', { name: 'New token' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(/namespaces\/shop/);
    await choose('eve.dark-mode.acme.v1', 'Ask eve.dark-mode.acme.v1');
    await page.waitForURL(/\/playground\?name=eve\.dark-mode/);
    // Without a letter: the pages that were visited come first.
    await choose('', 'shop');
    await page.waitForURL(/namespaces\/shop/);
    await effectsRan(page);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('?webhook');
    await palette.getByRole('option', { name: 'Documents' }).waitFor();
    await palette.getByRole('option').nth(3).waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
  });

  it('what was gone to stays chosen when records come before it', async () => {
    const { page } = get();
    await ada.call('POST', '/records', { record: { key: 'kim.light-mode.acme.v1', data: 'b24=' } });
    const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
    const listing = /\/records\?.*q=kim/;
    await page.route(listing, async (route) => {
      await held;
      await route.continue();
    });
    await effectsRan(page);
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Go to' });
    await palette.getByRole('combobox').and(page.locator(':focus')).waitFor();
    await page.keyboard.insertText('kim.light');
    const chosen = palette.getByRole('option', { selected: true }).filter({ hasText: 'Ask kim.light' });
    await chosen.waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    goOn();
    await palette.getByRole('option', { name: 'kim.light-mode.acme.v1' }).waitFor();
    assert.equal(await chosen.count(), 1);
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await page.unroute(listing);
  });

  it('a name with a query token is asked, and gets into no address: not by the palette, not by the search', async () => {
    const { page, origin } = get();
    const spaces = (await ada.call('GET', '/namespaces')).body as unknown as { id: string; name: string }[];
    const id = spaces.find(({ name }) => name === 'acme')?.id;
    const minted = await ada.call('POST', `/namespaces/${id}/query_tokens`, {
      name: 'x',
      expires_in_days: 1,
    });
    const { token } = minted.body as { token: string };
    const name = `get.auth-${token}.eve.dark-mode.acme.v1.uqrp.net`;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.goto(`${origin}/records`);
    await page.getByRole('row').filter({ hasText: 'eve.dark-mode.acme.v1' }).waitFor();
    await effectsRan(page);
    await page.keyboard.press('/');
    await page.keyboard.insertText(name);
    await page.keyboard.press('Enter');
    await page.getByText('A name with a token is not searched').waitFor();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Go to' });
    await palette.getByRole('combobox').and(page.locator(':focus')).waitFor();
    await page.keyboard.insertText(`?${name}`);
    await palette.getByRole('option', { name: 'Documents' }).waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(name);
    await palette.getByRole('option', { name: 'Ask get.auth-••••••••.eve.dark-mode' }).waitFor();
    // Longer than the pause after which records are asked for.
    await page.waitForTimeout(500);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/playground`);
    await page.getByRole('region', { name: 'Answer' }).getByText('on', { exact: true }).first().waitFor();
    const field = await page.getByRole('textbox', { name: 'Name' }).first().inputValue();
    assert.equal(field, 'get.auth-••••••••.eve.dark-mode.acme.v1.uqrp.net');
    const entries = await page.evaluate('navigation.entries().map(({ url }) => url)');
    assert.deepEqual(
      [...addresses, ...(entries as (string | null)[])].filter((url) => url?.includes(token)),
      [],
    );
  });
});
