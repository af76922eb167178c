/** The first minute by keyboard alone: where the focus is after each step. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';

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
});
