/** What people see who are not signed in. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { browserTest } from '../support/browser/dashboard.ts';

const NAME = 'get.100-km-to-mi.units.public.v1.uqrp.net';

browserTest('visitor', (get) => {
  it('the playground of a link answers, and nothing is asked that needs a session', async () => {
    const { page, origin, axe } = get();
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(response.url());
    });
    await page.goto(`${origin}/playground?name=${NAME}`);
    await page.getByRole('heading', { level: 1, name: en.playground.title }).waitFor();
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('62.1371192237').first().waitFor();
    await page
      .getByRole('region', { name: 'Signatures' })
      .getByText('valid', { exact: true })
      .first()
      .waitFor();
    await axe('playground of a visitor');
    assert.deepEqual(refused, []);
  });

  it('the header leads to the API, and a sign-in back to the page that was left for it', async () => {
    const { page, context, nextCode } = get();
    const site = page.getByRole('navigation', { name: 'Site' });
    await site.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'API', exact: true }).waitFor();
    await page.locator('h1:focus').waitFor();
    assert.deepEqual(await site.getByRole('link').allInnerTexts(), ['Services', 'Playground', 'API', 'Docs']);
    assert.deepEqual(await context.cookies(), []);
    await page.getByRole('link', { name: 'Sign in', exact: true }).click();
    await page.getByRole('textbox', { name: 'E-mail' }).click();
    await page.keyboard.type('ada@example.net');
    const code = nextCode();
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Code' }).click();
    await page.keyboard.type(await code);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'API', exact: true }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/api');
    assert.equal(await site.count(), 0);
  });

  it('a passkey can be added after the page of the sign-in was left', async () => {
    const { page, context } = get();
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    // In the same document: a request for a passkey that the form of the sign-in left behind would refuse this one.
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Account' }).click();
    await page.getByRole('button', { name: 'Add a passkey' }).last().click();
    await page.getByText(en.account.passkeyAdded).first().waitFor();
  });
});
