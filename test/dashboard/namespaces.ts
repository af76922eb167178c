/** Namespaces: the list, a new one, its page, its deletion. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

browserTest('namespaces', (get) => {
  let ada: Account;

  it('are none at first, and the page says what they are', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, 'ada@example.net', 'pro');
    await signIn();
    await page.goto(`${origin}/namespaces`);
    await page.getByRole('heading', { name: 'No namespaces yet' }).waitFor();
    await axe('no namespaces');
    await shot('namespaces-empty');
  });

  it('are made, with rules that are checked as the name is typed', async () => {
    const { page, axe, allow } = get();
    allow(/status of 422/);
    await page.getByRole('heading', { level: 1 }).press('c');
    const dialog = page.getByRole('dialog', { name: 'New namespace' });
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.fill('Acme');
    await dialog.getByText('A name begins with a lower-case letter.').waitFor();
    await name.fill('<img src=x onerror=alert(1)>');
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await axe('new namespace');
    await name.fill('google');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('name is reserved').waitFor();
    await name.fill('acme');
    await dialog.getByRole('button', { name: 'Create' }).dblclick();
    await page.getByRole('table').getByRole('rowheader', { name: 'acme' }).waitFor();
    assert.equal(await dialog.count(), 0);
    assert.equal(await page.getByRole('rowheader').count(), 1);
  });

  it('are listed with records, live tokens, and who may read', async () => {
    const { page, origin, server, axe, shot } = get();
    await ada.call('POST', '/namespaces', { namespace: { name: 'beta' } });
    server.cli(['namespace', 'public-read', 'beta', 'on']);
    await ada.call('POST', '/records', { record: { key: 'a.beta.v1', data: 'YQ==' } });
    await page.goto(`${origin}/namespaces`);
    const row = page.getByRole('row').filter({ hasText: 'beta' });
    await row.getByText('open to everyone').waitFor();
    // The tokens of each row are read after the list.
    for (const [cell, count] of ['1', '0'].entries())
      await row.getByRole('cell').nth(cell).getByText(count, { exact: true }).waitFor();
    await axe('namespaces');
    await shot('namespaces');
    // The menu of a row, by keyboard: arrows, the first letter, and Esc, which gives the focus back.
    const more = page.getByRole('button', { name: 'More for acme' });
    await more.focus();
    await page.keyboard.press('ArrowDown');
    const menu = page.getByRole('menu', { name: 'More for acme' });
    await menu.getByRole('menuitem', { name: 'New record' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('s');
    await menu.getByRole('menuitem', { name: 'Settings' }).and(page.locator(':focus')).waitFor();
    await axe('the menu of a namespace');
    await page.keyboard.press('Escape');
    await more.and(page.locator(':focus')).waitFor();
    assert.equal(await menu.count(), 0);
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const token = page.getByRole('dialog', { name: 'New token' });
    await token.getByRole('textbox', { name: 'Name' }).and(page.locator(':focus')).waitFor();
    await token.getByRole('button', { name: 'What is: query token' }).click();
    await token.getByText('A secret label at the beginning of a name.').waitFor();
    await axe('a word explained');
    await page.keyboard.press('Escape');
    await token.getByText('A secret label at the beginning of a name.').waitFor({ state: 'hidden' });
    await page.keyboard.press('Escape');
    await token.waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByRole('searchbox', { name: 'Search' }).fill('ac');
    await row.waitFor({ state: 'detached' });
    await page.waitForURL((url) => url.searchParams.get('search') === 'ac');
  });

  it('one has a page with tabs that stand in the address', async () => {
    const { page, origin, axe } = get();
    await page.goto(`${origin}/namespaces`);
    await page.getByRole('link', { name: 'beta' }).click();
    await page.getByRole('heading', { level: 1, name: 'beta' }).waitFor();
    await page.getByRole('rowheader', { name: 'a.beta.v1' }).waitFor();
    await page.getByRole('tab', { name: 'Webhooks' }).click();
    await page.getByText('No webhook sees beta').waitFor();
    await axe('webhooks of a namespace');
    const webhook = {
      name: '<img src=x onerror=alert(1)>',
      url: 'https://example.com/h',
      events: ['record.upserted'],
    };
    const made = await ada.call('POST', '/webhooks', { webhook });
    assert.equal(made.status, 201);
    await page.reload();
    await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    await page.getByRole('tab', { name: 'Webhooks' }).press('ArrowLeft');
    await page.waitForURL((url) => url.searchParams.get('tab') === 'tokens');
  });

  it('have a time that caches keep open answers, which their owner chooses', async () => {
    const { page, axe, allow } = get();
    allow(/status of 422/);
    await page.getByRole('tab', { name: 'Settings' }).click();
    const seconds = page.getByLabel('Seconds that caches keep an answer');
    assert.equal(await seconds.inputValue(), '60');
    await seconds.fill('86401');
    await seconds.press('Enter');
    await page.getByRole('alert').getByText('max_ttl must be between 1 and 86400').waitFor();
    // The list of namespaces is read again, and its answer takes its time.
    const { promise: read, resolve: goOn } = Promise.withResolvers<void>();
    await page.route('**/api/v1/namespaces', async (route) => {
      await read;
      // The page may have gone on meanwhile.
      await route.continue().catch(() => undefined);
    });
    await seconds.fill('3600');
    await seconds.press('Enter');
    await page.getByText('Answers have the new time now.').waitFor();
    assert.equal(await seconds.inputValue(), '3600', 'the field showed the time of before');
    goOn();
    await page.unroute('**/api/v1/namespaces');
    await axe('time of open answers');
    await page.reload();
    await page.getByLabel('Seconds that caches keep an answer').waitFor();
    assert.equal(await page.getByLabel('Seconds that caches keep an answer').inputValue(), '3600');
  });

  it('are deleted after the name is typed, and the page says what goes with them', async () => {
    const { page, axe, shot } = get();
    await page.getByRole('tab', { name: 'Danger' }).click();
    await page.getByText('0 live query tokens').waitFor();
    await axe('danger');
    await shot('namespace-danger');
    await page.getByRole('button', { name: 'Delete beta' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete beta' });
    await dialog.getByText('1 record', { exact: true }).waitFor();
    const button = dialog.getByRole('button', { name: 'Delete', exact: true });
    assert.ok(await button.isDisabled());
    await dialog.getByRole('textbox').fill('beta');
    await button.click();
    await page.getByRole('heading', { level: 1, name: 'Namespaces' }).waitFor();
    await page.getByRole('rowheader', { name: 'acme' }).waitFor();
    await page.getByRole('rowheader', { name: 'beta' }).waitFor({ state: 'detached' });
  });

  it('a suspended one says why, and shows nothing that the server refuses', async () => {
    const { page, origin, server, axe } = get();
    await ada.call('POST', '/namespaces', { namespace: { name: 'gamma' } });
    await ada.call('POST', '/records', { record: { key: 'kept.gamma.v1', data: 'YQ==' } });
    server.cli(['namespace', 'suspend', 'gamma', 'on']);
    await page.goto(`${origin}/namespaces/gamma`);
    await page.getByText('The operator has suspended gamma.').waitFor();
    const row = page.getByRole('row').filter({ hasText: 'kept.gamma.v1' });
    await row.getByRole('button', { name: 'Copy dig' }).waitFor();
    await axe('a suspended namespace');
    const refused = page.getByRole('button', { name: /^(New record|Edit|Delete|Delete selected)$/ });
    assert.equal(await refused.count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Import' }).count(), 0);
    assert.equal(await page.getByRole('tab', { name: /Settings|Danger/ }).count(), 0);
    await row.getByRole('checkbox').click();
    await page.getByText('gamma is suspended: its records can be exported only.').waitFor();
    assert.equal(await refused.count(), 0);
    await page.keyboard.press('c');
    await row.getByRole('rowheader').click();
    const panel = page.getByRole('dialog', { name: 'kept.gamma.v1' });
    await panel.getByText('The operator has suspended gamma.').waitFor();
    assert.equal(await refused.count(), 0);
    assert.deepEqual(await panel.getByRole('tab').allInnerTexts(), ['Data', 'History']);
    await page.goto(`${origin}/namespaces/gamma?tab=tokens`);
    await page.getByRole('heading', { name: 'No query tokens in gamma' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'New token' }).count(), 0);
    // Any part of a name finds it.
    await page.goto(`${origin}/namespaces?search=AMM`);
    await page.getByRole('row').filter({ hasText: 'gamma' }).getByText('suspended').waitFor();
    assert.equal(await page.getByRole('button', { name: 'More for gamma' }).count(), 0);
    await page.goto(`${origin}/records/import?namespace=gamma`);
    const line = Buffer.from('{"key":"a.gamma.v1","data":"YQ=="}');
    const file = { name: 'a.jsonl', mimeType: 'text/plain', buffer: line };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByText('or the operator has suspended it.').waitFor();
  });

  it('an unknown one is said to be unknown', async () => {
    const { page, origin, axe } = get();
    await page.goto(`${origin}/namespaces/%3Cb%3Enone`);
    await page.getByRole('heading', { name: 'You have no namespace <b>none' }).waitFor();
    await axe('an unknown namespace');
  });

  it('a list that cannot be read says so, and is read again by itself', async () => {
    const { page, origin, allow } = get();
    allow(/status of 500|Failed to load resource/);
    let isBroken = true;
    await page.route('**/api/v1/namespaces', async (route) => {
      if (!isBroken) return await route.fallback();
      await route.fulfill({ status: 500, json: { error: 'Something failed', code: 'server_error' } });
    });
    await page.goto(`${origin}/namespaces`);
    await page.getByRole('alert').getByText('Something failed').waitFor();
    isBroken = false;
    await page.getByRole('rowheader', { name: 'acme' }).waitFor();
    await page.unroute('**/api/v1/namespaces');
  });
});
