/** API keys: one that is made, shown once, used, and revoked. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

const CANARY = '<img src=x onerror=alert(1)>';

browserTest('API keys', (get) => {
  let ada: Account;
  let key = '';

  it('are none at first', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, 'ada@example.net', 'pro');
    await signIn();
    await page.goto(`${origin}/api-keys`);
    await page.getByRole('heading', { name: 'No API keys' }).waitFor();
    await axe('no API keys');
    await shot('api-keys-empty');
    await page.getByText('Why does a program with a key get 403?').click();
    await page.getByText(/Neither implies the other/).waitFor();
    await axe('why 403');
  });

  it('are made by keyboard, and shown once in a dialog that only its button closes', async () => {
    const { page, axe, shot } = get();
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await page.reload();
    await page.getByRole('button', { name: 'New key' }).press('Enter');
    const form = page.getByRole('dialog', { name: 'New key' });
    await form.getByRole('textbox', { name: 'Name' }).fill(CANARY);
    await form.getByRole('combobox', { name: 'Operations' }).selectOption('read');
    await form.getByRole('checkbox', { name: 'acme' }).check();
    await form.getByRole('combobox', { name: 'Expires' }).selectOption('30');
    await form.getByText('Reads records, query tokens and webhooks in acme.').waitFor();
    await axe('the form of a key');
    await form.getByRole('button', { name: 'Create' }).dblclick();
    const dialog = page.getByRole('dialog', { name: 'API key' });
    await dialog.waitFor();
    key = (await dialog.locator('output').innerText()).trim();
    assert.match(key, /^[0-9a-f]{64}$/);
    await dialog
      .getByText(/\$UQRP_TOKEN/)
      .first()
      .waitFor();
    await axe('a new key');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    assert.equal(await dialog.isVisible(), true);
    await shot('api-key');
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.doesNotMatch(await page.content(), new RegExp(key));
    const stored = await page.evaluate(
      'JSON.stringify([localStorage, sessionStorage, history.state, location.href])',
    );
    assert.doesNotMatch(String(stored), new RegExp(key));
  });

  it('are listed once each, with what they reach', async () => {
    const { page, axe, shot } = get();
    const row = page.getByRole('row').filter({ hasText: CANARY });
    await row.waitFor();
    assert.equal(await page.getByRole('rowheader').count(), 1);
    const cells = await row.getByRole('cell').allInnerTexts();
    assert.deepEqual(cells.slice(0, 3), ['Reads', 'acme', 'never']);
    assert.match(cells[3] ?? '', /^in /);
    await axe('API keys');
    await shot('api-keys');
  });

  it('show why a name is refused, and keep the form', async () => {
    const { page, allow, axe } = get();
    allow(/status of 422/);
    await page.getByRole('button', { name: 'New key' }).click();
    const form = page.getByRole('dialog', { name: 'New key' });
    await form.getByRole('textbox', { name: 'Name' }).fill('x'.repeat(101));
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByRole('alert').waitFor();
    await axe('a refused key');
    assert.equal((await form.getByRole('textbox', { name: 'Name' }).inputValue()).length, 101);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard' }).click();
    await form.waitFor({ state: 'detached' });
  });

  it('are refused as soon as they are revoked', async () => {
    const { page, origin, axe } = get();
    const ask = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${origin}/api/v1/records?limit=1`, { headers })).status;
    };
    assert.equal(await ask(), 200);
    await page.getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: `Revoke ${CANARY}?` });
    await axe('a key is revoked');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('heading', { name: 'No API keys' }).waitFor();
    assert.equal(await ask(), 401);
  });

  it('are listed as they were while the server cannot be reached', async () => {
    const { page, context, axe, allow } = get();
    allow(/ERR_INTERNET_DISCONNECTED/);
    await ada.call('POST', '/api_keys', { api_key: { name: 'kept' } });
    await page.reload();
    await page.getByRole('rowheader', { name: 'kept' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).focus();
    await page.keyboard.type('nothing is called so');
    await page.getByText('No key has that in its name or namespaces.').waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('KEP');
    await page.getByRole('rowheader', { name: 'kept' }).waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Backspace');
    await context.setOffline(true);
    await page
      .getByText(/The server cannot be reached/)
      .first()
      .waitFor();
    await page.getByRole('rowheader', { name: 'kept' }).waitFor();
    await axe('API keys, offline');
    await page.getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke kept?' });
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('alert').waitFor();
    await context.setOffline(false);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('heading', { name: 'No API keys' }).waitFor();
  });

  it('cannot be lost: nothing closes the form while it is sent, and Back asks while the key is shown', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/account`);
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    const form = page.getByRole('dialog', { name: 'New key' });
    await form.getByRole('textbox', { name: 'Name' }).fill('slow');
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await page.route('**/api/v1/api_keys', async (route) => {
      if (route.request().method() === 'POST') await answered;
      await route.continue();
    });
    await form.getByRole('button', { name: 'Create' }).click();
    await form.locator('button:disabled', { hasText: 'Cancel' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    assert.ok(await form.isVisible());
    answer();
    const dialog = page.getByRole('dialog', { name: 'API key' });
    await dialog.waitFor();
    const question = page.waitForEvent('dialog');
    await page.evaluate('history.back()');
    await (await question).dismiss();
    assert.ok(await dialog.isVisible());
    assert.equal(new URL(page.url()).pathname, '/api-keys');
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('rowheader', { name: 'slow' }).waitFor();
  });
});
