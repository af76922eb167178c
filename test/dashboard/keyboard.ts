/** The first minute by keyboard alone: where the focus is after each step. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest, recordRow as row } from '../support/browser/dashboard.ts';
import { account } from '../support/server-process.ts';

browserTest('keyboard', (get) => {
  it('the focus is never lost between the first steps', async () => {
    const { page, origin, nextCode } = get();
    const type = (text: string): Promise<void> => page.keyboard.type(text);
    const press = (key: string): Promise<void> => page.keyboard.press(key);
    const focused = page.locator(':focus');
    await page.goto(`${origin}/sign-in`);
    await page.getByRole('textbox', { name: 'E-mail' }).and(focused).waitFor();
    await type('ada@example.net');
    const code = nextCode();
    await press('Enter');
    await page.getByRole('textbox', { name: 'Code' }).and(focused).waitFor();
    await type(await code);
    await press('Enter');
    await page.getByRole('textbox', { name: 'Name', exact: true }).and(focused).waitFor();
    // The offer of a passkey stands above the screen.
    await page.getByRole('button', { name: 'Not now' }).focus();
    await press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).and(focused).waitFor();
    await press('Tab');
    await page.getByRole('textbox', { name: 'Name', exact: true }).and(focused).waitFor();
    await type('acme');
    await press('Enter');
    await page.getByRole('textbox', { name: 'Data' }).and(focused).waitFor();
    await type('hello');
    await press('Enter');
    await page.getByRole('button', { name: 'Read it over DNS' }).and(focused).waitFor();
    await press('Enter');
    await page.getByRole('region', { name: 'Answer' }).getByText('hello').waitFor();
    // A tier without webhooks has no step for them: the next one is the own terminal.
    await page.getByRole('figure', { name: 'dig with your token' }).waitFor();
    await page.getByRole('button', { name: 'Copy' }).and(focused).waitFor();
    assert.equal(await page.getByText('uqrp user tier').count(), 0);
  });

  it('who has no namespace is led to it, and who has no webhooks is told the command', async () => {
    const { page, origin, signIn, forgetSession, axe } = get();
    await forgetSession();
    await signIn(page, 'grace@example.net');
    await page.goto(`${origin}/records`);
    await page.getByText('UQRP_TOKEN stands for an API key:').waitFor();
    await axe('records without a namespace');
    await page.getByRole('link', { name: 'Go to namespaces' }).click();
    await page.getByRole('heading', { level: 1, name: 'Namespaces' }).waitFor();
    await page.goto(`${origin}/webhooks`);
    await page.getByText("uqrp user tier 'grace@example.net' pro").waitFor();
    assert.ok(await page.getByRole('button', { name: 'New webhook' }).isDisabled());
    await axe('webhooks of a tier without them');
  });

  it('keys act on the row with the focus, also after rows of others have come before it or it has left the table', async () => {
    const { page, origin, server, signIn, forgetSession } = get();
    await forgetSession();
    const kim = account(server, 'kim@example.net', 'pro');
    await kim.call('POST', '/namespaces', { namespace: { name: 'shop' } });
    const make = async (name: string): Promise<void> => {
      const record = { key: `${name}.shop.v1`, data: btoa(name), content_type: 'text/plain' };
      assert.equal((await kim.call('POST', '/records', { record })).status, 201);
    };
    for (const name of ['k1', 'k2', 'k3']) await make(name);
    await signIn(page, 'kim@example.net');
    const followed = page.waitForRequest(/\/changes\/stream/);
    await page.goto(`${origin}/records`);
    await row(page, 'k1.shop.v1').waitFor();
    await followed;
    const press = (key: string): Promise<void> => page.keyboard.press(key);
    const focused = (key: string): Promise<void> => row(page, key).and(page.locator(':focus')).waitFor();
    await press('j');
    await focused('k1.shop.v1');
    await press('j');
    await focused('k2.shop.v1');
    await make('a0');
    await row(page, 'a0.shop.v1').waitFor();
    await focused('k2.shop.v1');
    await press('Enter');
    await page.getByRole('dialog', { name: 'k2.shop.v1' }).waitFor();
    await press('Escape');
    await focused('k2.shop.v1');
    await press('e');
    await page.getByRole('textbox', { name: /k2\.shop\.v1/ }).waitFor();
    await press('Escape');
    await row(page, 'k2.shop.v1').focus();
    await press('x');
    await make('a1');
    await row(page, 'a1.shop.v1').waitFor();
    await press('j');
    await focused('k3.shop.v1');
    await press('Shift+X');
    await page.getByText('2 records selected').waitFor();
    await press('x');
    await page.getByText('1 record selected').waitFor();
    await page.getByRole('button', { name: 'Delete selected' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete k2.shop.v1' });
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByText('Close', { exact: true }).click();
    await row(page, 'k2.shop.v1').waitFor({ state: 'detached' });
    const left = (await kim.call('GET', '/records')).body as unknown as readonly { readonly key: string }[];
    assert.deepEqual(left.map(({ key }) => key).sort(), [
      'a0.shop.v1',
      'a1.shop.v1',
      'k1.shop.v1',
      'k3.shop.v1',
    ]);
    // The row of the keyboard is gone: no key acts on the one at its place until the keyboard goes there.
    await row(page, 'k1.shop.v1').focus();
    await row(page, 'k1.shop.v1').getByRole('button', { name: 'Delete' }).click();
    const one = page.getByRole('dialog', { name: 'Delete the record' });
    await one.getByRole('button', { name: 'Delete', exact: true }).click();
    await one.waitFor({ state: 'detached' });
    await row(page, 'k1.shop.v1').waitFor({ state: 'detached' });
    await press('x');
    await press('j');
    await focused('k3.shop.v1');
    await press('x');
    await page.getByText('1 record selected').waitFor();
    await row(page, 'k3.shop.v1').getByRole('checkbox', { checked: true }).waitFor();
  });
});
