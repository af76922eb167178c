/** Query tokens: minted, shown once, revoked until DNS refuses. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

const CANARY = '<img src=x onerror=alert(1)>';

browserTest('query tokens', (get) => {
  let ada: Account;

  it('are none at first', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, 'ada@example.net', 'pro');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await ada.call('POST', '/records', { record: { key: 'greeting.acme.v1', data: 'aGk=' } });
    await signIn();
    await page.goto(`${origin}/namespaces/acme?tab=tokens`);
    await page.getByRole('heading', { name: 'No query tokens in acme' }).waitFor();
    await axe('no tokens');
    await shot('tokens-empty');
  });

  it('one is minted for 1 to 365 days', async () => {
    const { page, axe } = get();
    await page.getByRole('heading', { level: 1 }).press('c');
    const dialog = page.getByRole('dialog', { name: 'New token' });
    const days = dialog.getByRole('spinbutton', { name: 'Days until it ends' });
    for (const wrong of ['0', '366', '']) {
      await days.fill(wrong);
      await dialog.getByText('1 to 365 days.').waitFor();
    }
    await days.fill('365');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('A name has 1 to 100 characters.').waitFor();
    await axe('new token');
    await dialog.getByRole('textbox', { name: 'Name' }).fill(CANARY);
    await dialog.getByRole('button', { name: 'Create' }).dblclick();
  });

  it('is shown once, with the whole name, and only its button closes the dialog', async () => {
    const { page, axe, shot } = get();
    const secret = page.getByRole('dialog', { name: 'Query token' });
    await secret.getByText('The whole name that reads greeting.acme.v1:').waitFor();
    const token = await secret.getByRole('status').first().innerText();
    assert.match(token, /^svcq[0-9a-v]{52}$/);
    await secret
      .getByRole('figure', { name: 'Name' })
      .getByText(`get.auth-${token}.greeting.acme.v1.uqrp.net`)
      .waitFor();
    await secret.getByRole('figure', { name: 'dig +https' }).getByText('+https').waitFor();
    await secret.getByText('Plain DNS shows the name').waitFor();
    await axe('a new token');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    assert.ok(await secret.isVisible());
    await secret.getByRole('button', { name: 'I have stored it' }).click();
    await secret.waitFor({ state: 'detached' });
    await page.getByRole('rowheader', { name: CANARY }).waitFor();
    assert.equal(await page.getByText(token).count(), 0);
    assert.ok(!page.url().includes(token));
    assert.equal(
      await page
        .evaluate('JSON.stringify([localStorage, sessionStorage, history.state])')
        .then((all) => String(all).includes('svcq')),
      false,
    );
    const { body } = await ada.call('GET', `/namespaces/${await namespaceId(ada)}/query_tokens`);
    assert.equal((body as unknown[]).length, 1);
    await axe('tokens');
    await shot('tokens');
  });

  it('is revoked, and the page asks until DNS refuses', async () => {
    const { page, axe } = get();
    await page.getByRole('row').filter({ hasText: CANARY }).getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText(/is revoked\. DNS refused it after .+\./).waitFor();
    await page.getByRole('row').filter({ hasText: CANARY }).getByText('revoked').waitFor();
    await axe('a revoked token');
  });

  it('one that this page does not know is revoked too', async () => {
    const { page } = get();
    await ada.call('POST', `/namespaces/${await namespaceId(ada)}/query_tokens`, { name: 'elsewhere' });
    await page.reload();
    await page
      .getByRole('row')
      .filter({ hasText: 'elsewhere' })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('this page does not know the token').waitFor();
  });

  it('one whose answer was lost is made once, and shown by the second press', async () => {
    const { page, allow } = get();
    allow(/ERR_FAILED/);
    await page.getByRole('button', { name: 'New token' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill('asked twice');
    let isLost = false;
    await page.route('**/query_tokens', async (route) => {
      if (isLost || route.request().method() !== 'POST') return await route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
    await dialog.getByRole('button', { name: 'Create' }).click();
    // The alert goes as soon as another read finds the server; what it turns into stays.
    await dialog.getByText('Whether this was saved is not known').waitFor();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('rowheader', { name: 'asked twice' }).waitFor();
    assert.equal(await page.getByRole('rowheader', { name: 'asked twice' }).count(), 1);
  });

  it('of the page is one after three reloads, shared by a second tab, hidden, and revoked by the sign-out', async () => {
    const { page, context, origin, axe } = get();
    const readOverDns = async (on: Page): Promise<void> => {
      await on.goto(`${origin}/records`);
      await on
        .getByRole('row')
        .filter({ hasText: 'greeting.acme.v1' })
        .first()
        .getByRole('rowheader')
        .click();
      const panel = on.getByRole('dialog', { name: 'greeting.acme.v1' });
      await panel.getByRole('tab', { name: 'As DNS sees it' }).click();
      const make = panel.getByRole('button', { name: 'Make a token and ask' });
      const answered = panel.getByText('The answer is this record');
      await make.or(answered).first().waitFor();
      if (await make.isVisible()) await make.click();
      await answered.waitFor();
    };
    const before = (await liveTokens(ada)).length;
    for (let load = 1; load <= 3; load++) await readOverDns(page);
    const ofPage = (await liveTokens(ada)).filter(({ session }) => session);
    assert.equal(ofPage.length, 1);
    // A busy tab answers late.
    await page.evaluate(`{
      const post = BroadcastChannel.prototype.postMessage;
      BroadcastChannel.prototype.postMessage = function (told) { setTimeout(() => post.call(this, told), 100); };
    }`);
    const second = await context.newPage();
    await readOverDns(second);
    const shared = (await liveTokens(ada)).filter(({ session }) => session);
    assert.deepEqual(shared, ofPage, 'the second tab reads with the token of the first');
    await second.close();
    await page.goto(`${origin}/namespaces/acme?tab=tokens`);
    await page.getByRole('rowheader', { name: 'asked twice' }).waitFor();
    assert.equal(await page.getByRole('rowheader', { name: 'dashboard: reads of this page' }).count(), 0);
    const box = page.getByRole('checkbox', { name: 'Show tokens of pages' });
    await box.focus();
    await page.keyboard.press('Space');
    const shown = page.getByRole('row').filter({ hasText: 'dashboard: reads of this page' }).first();
    await shown.getByText('of a page').waitFor();
    await axe('tokens of pages');
    await page.goto(`${origin}/account`);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('button', { name: 'Send code' }).waitFor();
    assert.equal((await liveTokens(ada)).length, before, 'the sign-out revokes it');
  });
});

interface Token {
  readonly id: string;
  readonly name: string;
  readonly session: boolean;
  readonly revoked_at: string | null;
}

async function liveTokens(of: Account): Promise<readonly Token[]> {
  const { body } = await of.call('GET', `/namespaces/${await namespaceId(of)}/query_tokens`);
  return (body as Token[]).filter((token) => token.revoked_at === null);
}

async function namespaceId(ada: Account): Promise<string> {
  const { body } = await ada.call('GET', '/namespaces');
  return (body as { id: string }[])[0]?.id ?? '';
}
