/** The account: passkeys, sessions, settings, deletion. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';
import { addAuthenticator } from '../support/control/passkeys/browser.ts';

browserTest('account', (get) => {
  it('a passkey is offered after the first code, made, and signs in', async () => {
    const { page, origin, signIn, axe, shot } = get();
    await addAuthenticator(page);
    await signIn();
    await page.goto(`${origin}/account`);
    await page.getByText('No passkey yet.').waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: /^Remove .+ on Linux/ }).waitFor();
    await axe('account');
    await shot('account');
    const heading = (name: string) => page.getByRole('heading', { level: 1, name });
    // The question in the field of the address is answered by itself. Without its options the page cannot ask before it was seen.
    const { promise: seen, resolve: goOn } = Promise.withResolvers<void>();
    await page.route('**/auth/passkeys/options', async (route) => {
      await seen;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading('Sign in').waitFor();
    goOn();
    await heading('Overview').waitFor();
    // A browser that offers no passkeys in fields has the button.
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
    await page.goto(`${origin}/account`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await heading('Overview').waitFor();
  });

  it('a session elsewhere is ended, and its page asks to sign in again without losing what was typed', async () => {
    const { page, origin, context, signIn, allow } = get();
    allow(/status of 401/);
    const other = await context.browser()!.newContext({ viewport: { width: 1280, height: 800 } });
    const elsewhere = await other.newPage();
    await signIn(elsewhere);
    await elsewhere.goto(`${origin}/account`);
    await elsewhere.getByRole('button', { name: 'Delete account' }).click();
    await elsewhere.getByRole('textbox', { name: /to confirm/ }).fill('ada@exam');
    await page.goto(`${origin}/account`);
    await page.getByRole('button', { name: 'End the session: By a code' }).click();
    await page.getByRole('button', { name: 'End the session: By a code' }).waitFor({ state: 'detached' });
    await elsewhere.getByRole('textbox', { name: /to confirm/ }).fill('ada@example.net');
    await elsewhere.getByRole('button', { name: 'Delete', exact: true }).click();
    const again = elsewhere.getByRole('dialog', { name: 'Sign in' });
    await again.waitFor();
    await elsewhere.keyboard.press('Escape');
    await elsewhere.keyboard.press('Escape');
    assert.ok(await again.isVisible());
    const code = get().nextCode();
    await again.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.net');
    await again.getByRole('button', { name: 'Send code' }).click();
    await again.getByRole('textbox', { name: 'Code' }).fill(await code);
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(
      await elsewhere.getByRole('textbox', { name: /to confirm/ }).inputValue(),
      'ada@example.net',
    );
    await other.close();
  });

  it('theme and shortcuts are settings of the browser', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/account`);
    await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
    assert.equal(await page.evaluate('getComputedStyle(document.documentElement).colorScheme'), 'dark');
    await page.getByRole('heading', { level: 1 }).press('g');
    await page.keyboard.press('o');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.goto(`${origin}/account`);
    assert.equal(await page.getByRole('combobox', { name: 'Theme' }).inputValue(), 'dark');
    await page.getByRole('switch', { name: 'Shortcuts of single keys' }).uncheck();
    await page.getByRole('heading', { level: 1 }).press('g');
    await page.keyboard.press('o');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/account');
    await page.getByRole('combobox', { name: 'Theme' }).selectOption('auto');
  });

  it('an account is deleted after its address is typed', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/account`);
    await page.getByRole('button', { name: 'Delete account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete account' });
    assert.ok(await dialog.getByRole('button', { name: 'Delete', exact: true }).isDisabled());
    await dialog.getByRole('textbox').fill('ada@example.net');
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  });
});
