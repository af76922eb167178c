/** Signing in, and what is there without a session. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';

const PATHS = ['/namespaces', '/records?namespace=acme', '/webhooks', '/account', '/webhooks/0190'];

browserTest('sign-in', (get) => {
  it('every page but those of visitors leads to sign-in', async () => {
    const { page, origin, axe, shot } = get();
    for (const path of PATHS) {
      const response = await page.goto(origin + path);
      assert.equal(response?.status(), 200, path);
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      await page.waitForURL((url) => url.pathname === '/sign-in');
    }
    await axe('sign-in');
    await shot('sign-in');
  });

  it('a path of no page says so, with links to what is there', async () => {
    const { page, origin, axe } = get();
    await page.goto(`${origin}/pricing`);
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/pricing');
    await axe('no such page');
    await page.getByRole('main').getByRole('link', { name: 'Services' }).click();
    await page.getByRole('heading', { level: 1, name: 'Public services' }).waitFor();
    await page.goto(`${origin}/pricing`);
    await page.getByRole('link', { name: 'Sign in', exact: true }).click();
    await page.getByText('The same form makes an account').waitFor();
    const site = page.getByRole('navigation', { name: 'Site' });
    assert.deepEqual(await site.getByRole('link').allInnerTexts(), ['Services', 'Playground', 'API', 'Docs']);
  });

  it('a wrong code is refused, and a right one leads to the page that was wanted', async () => {
    const { page, origin, nextCode, axe, allow, shot } = get();
    allow(/status of 401.*auth\/verify/);
    await page.goto(`${origin}/account`);
    await page.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.net');
    const code = nextCode();
    await page.getByRole('button', { name: 'Send code' }).click();
    const digits = await code;
    const wrong = digits === '000000' ? '000001' : '000000';
    await page.getByRole('textbox', { name: 'Code' }).fill(wrong);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await axe('a wrong code');
    await shot('sign-in-code');
    await page.getByRole('textbox', { name: 'Code' }).fill(`${digits.slice(0, 3)} ${digits.slice(3)}`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const heading = page.getByRole('heading', { level: 1, name: 'Account' });
    const later = page.getByRole('button', { name: 'Not now' });
    await heading.or(later).first().waitFor();
    if (await later.isVisible()) await later.click();
    await heading.waitFor();
  });

  it('after sign-out the session is over', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/account`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.goto(`${origin}/account`);
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  });

  it('a sign-out in another tab leaves nothing of the user in this one', async () => {
    const { page, context, origin, signIn } = get();
    await signIn();
    await page.goto(`${origin}/namespaces`);
    await page.getByRole('button', { name: 'New namespace' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('secret-plans');
    const other = await context.newPage();
    await other.goto(`${origin}/account`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    assert.equal(page.url(), `${origin}/sign-in`);
    assert.equal(await page.getByText('ada@example.net').count(), 0);
    await other.close();
  });

  it('a sign-in as somebody else in another tab reloads the page, also one whose session had ended', async () => {
    const { page, context, origin, signIn, allow } = get();
    allow(/status of 401/);
    await signIn();
    const other = await context.newPage();
    await other.goto(`${origin}/sign-in`);
    await context.clearCookies();
    // What the page reads by itself may have opened the dialog already, over which no pointer comes.
    await page.getByRole('link', { name: 'Usage' }).first().dispatchEvent('click');
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    await signIn(other, 'bob@example.net');
    await page.getByRole('link', { name: 'bob@example.net' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.getByText('ada@example.net').count(), 0);
    await other.close();
  });

  it('a sign-out takes the messages of the page away', async () => {
    const { page, origin, signIn, forgetSession } = get();
    await forgetSession();
    await signIn();
    await page.goto(`${origin}/namespaces`);
    await page.getByRole('button', { name: 'New namespace' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('merger');
    await page.keyboard.press('Enter');
    await page.getByText('merger is made').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('>sign out');
    await page.getByRole('option', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    assert.equal(await page.getByText('merger').count(), 0);
  });

  it('who signs in over the page of somebody else gets nothing of what was typed there', async () => {
    const { page, context, origin, signIn, nextCode, allow } = get();
    allow(/status of 401/);
    await signIn();
    await page.goto(`${origin}/namespaces`);
    const create = page.getByRole('button', { name: 'New namespace' }).first();
    const form = page.getByRole('dialog', { name: 'New namespace' });
    const name = form.getByRole('textbox', { name: 'Name' });
    await create.click();
    await name.fill('secret-plans');
    await context.clearCookies();
    await form.getByRole('button', { name: 'Create' }).dispatchEvent('click');
    const over = page.getByRole('dialog', { name: 'Sign in' });
    await over.getByRole('textbox', { name: 'E-mail' }).fill('eve@example.net');
    const code = nextCode('eve@example.net');
    await over.getByRole('button', { name: 'Send code' }).click();
    await over.getByRole('textbox', { name: 'Code' }).fill(await code);
    await over.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('link', { name: 'eve@example.net' }).waitFor();
    await form.waitFor({ state: 'detached' });
    await create.click();
    await name.and(page.locator(':focus')).waitFor();
    assert.equal(await name.inputValue(), '');
    assert.equal(await form.getByRole('button', { name: 'Restore' }).count(), 0);
    await page.keyboard.press('Escape');
  });

  it('the offer of a passkey ends with the session', async () => {
    const { page, origin, nextCode, forgetSession } = get();
    const signInAs = async (email: string): Promise<void> => {
      await page.getByRole('textbox', { name: 'E-mail' }).fill(email);
      const code = nextCode(email);
      await page.getByRole('button', { name: 'Send code' }).click();
      await page.getByRole('textbox', { name: 'Code' }).fill(await code);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    };
    await page.evaluate('localStorage.clear()');
    await forgetSession();
    await page.goto(`${origin}/account`);
    await signInAs('carol@example.net');
    const offer = page.getByRole('button', { name: 'Not now' });
    await offer.waitFor();
    // The next sign-in makes no offer of its own.
    await page.evaluate("localStorage.setItem('uqrp.passkey-offer', 'no')");
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.evaluate("history.replaceState(null, '', '/sign-in?next=%2Faccount')");
    await signInAs('dave@example.net');
    assert.equal(await offer.count(), 0);
  });

  it('a page whose session has ended asks for nothing by itself', async () => {
    const { context, origin } = get();
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${origin}/usage`);
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const settled = () => page.evaluate("fetch('/api/v1/meta').then((answer) => answer.status)");
    await page.clock.runFor(300_000);
    await settled();
    assert.ok(asked.includes('/api/v1/usage'), 'a page with a session polls');
    await context.clearCookies();
    // What the dialog asks for when it opens, once the browser has said that it offers passkeys in fields.
    const offered = page.waitForRequest('**/auth/passkeys/options');
    await page.clock.runFor(300_000);
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    await page.clock.runFor(1000);
    await offered;
    await settled();
    asked.length = 0;
    await page.clock.runFor(300_000);
    await settled();
    assert.deepEqual(asked, ['/api/v1/meta']);
    await page.close();
  });
});
