/** Ten things that people come for, by keyboard alone, with what a screen reader says where the focus is. Prints the keys that each takes. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { type KeyboardUser, keyboardUser } from '../support/browser/by-keyboard.ts';
import { browserTest, type Dashboard } from '../support/browser/dashboard.ts';
import { account } from '../support/server-process.ts';

const EMAIL = 'ada@example.net';

browserTest(
  'ten tasks',
  (get) => {
    let user: KeyboardUser;

    function task(
      name: string,
      most: number,
      run: (dashboard: Dashboard, user: KeyboardUser) => Promise<void>,
    ): void {
      it(name, async (test) => {
        user.keys();
        await run(get(), user);
        const keys = user.keys();
        test.diagnostic(`${keys} keys`);
        // A page that asks for more than before is worse than before.
        assert.ok(keys <= most, `${keys} keys, ${most} at most`);
      });
    }

    it('the account is ready', async () => {
      const { server, page, signIn } = get();
      const ada = account(server, EMAIL, 'pro');
      await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      const webhook = { name: 'mirror', url: 'https://hooks.example.com/in', events: ['record.upserted'] };
      await ada.call('POST', '/webhooks', { webhook });
      await ada.call('POST', '/organizations', { organization: { name: 'Analytical' } });
      await ada.call('POST', '/records', { record: { key: 'greeting.acme.v1', data: 'aGVsbG8=' } });
      await signIn();
      user = await keyboardUser(page);
    });

    task('create a record', 18, async ({ page }, { press, type, isAt, tabTo }) => {
      await press('g', 'r');
      await page.getByRole('rowheader', { name: 'greeting.acme.v1' }).waitFor();
      await press('c');
      await isAt('textbox', 'Key');
      await type('sku-1.price.acme.v1');
      await tabTo('textbox', 'Data');
      await type('9.50');
      await press('Control+Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('rowheader', { name: 'sku-1.price.acme.v1' }).waitFor();
    });

    task('find it by its resource', 8, async ({ page }, { press, type, isAt }) => {
      await press('Escape');
      await press('/');
      await isAt('searchbox', 'Search');
      await type('price');
      await page.getByRole('rowheader', { name: 'greeting.acme.v1' }).waitFor({ state: 'detached' });
      await page.getByRole('rowheader', { name: 'sku-1.price.acme.v1' }).waitFor();
    });

    task('edit its value', 10, async ({ page }, { press, type, isAt }) => {
      await press('ArrowDown');
      await isAt('row', /^/);
      await press('e');
      await isAt('textbox', /^Value/);
      await press('Control+a');
      await type('12.00');
      await press('Enter');
      await page.getByRole('row', { name: /sku-1/ }).getByText('12.00').waitFor();
    });

    task('delete it, and undo', 20, async ({ page }, { press, tabTo }) => {
      await press('j');
      await tabTo('button', /^Delete/);
      await press('Enter');
      await tabTo('button', 'Delete');
      await press('Enter');
      const row = page.getByRole('rowheader', { name: 'sku-1.price.acme.v1' });
      await row.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Undo' }).waitFor();
      await press('z');
      await row.waitFor();
    });

    task('share a read', 30, async ({ page }, { press, type, isAt, tabTo }) => {
      await press('Control+k');
      await isAt('combobox', /./);
      await type('mint a token for acme');
      await page
        .getByRole('option', { name: /token for acme/i })
        .first()
        .waitFor();
      await press('Enter');
      await isAt('textbox', 'Name');
      await type('office');
      await press('Enter');
      const secret = page.getByRole('dialog', { name: 'Query token' });
      await secret.getByRole('figure', { name: 'Name' }).waitFor();
      await tabTo('button', 'I have stored it');
      await press('Enter');
      await secret.waitFor({ state: 'detached' });
      await page.getByRole('rowheader', { name: 'office' }).waitFor();
    });

    task('see why a webhook fails', 16, async ({ page }, { press, tabTo }) => {
      await press('g', 'w');
      await page.getByRole('rowheader', { name: 'mirror' }).waitFor();
      await tabTo('link', 'mirror');
      await press('Enter');
      await page.getByRole('heading', { level: 1, name: 'mirror' }).waitFor();
      await page
        .getByText(/does not resolve/i)
        .first()
        .waitFor();
    });

    task('verify a signature', 8, async ({ page }, { press, type, isAt }) => {
      await press('Control+k');
      await isAt('combobox', /./);
      await type('get.100-km-to-mi.units.public.v1.uqrp.net');
      await page.getByRole('option', { name: /^Ask/ }).first().waitFor();
      await press('Enter');
      const signatures = page.getByRole('region', { name: 'Signatures' });
      await signatures.getByText('valid', { exact: true }).first().waitFor();
      assert.equal(await signatures.getByText('not valid').count(), 0);
    });

    task('import', 32, async ({ page }, { press, tabTo }) => {
      const folder = mkdtempSync(join(tmpdir(), 'uqrp-import-'));
      const file = join(folder, 'prices.csv');
      writeFileSync(file, 'key,value\nsku-8.price.acme.v1,8\nsku-9.price.acme.v1,9\n');
      await press('g', 'r');
      await page.getByRole('rowheader', { name: 'greeting.acme.v1' }).waitFor();
      await tabTo('link', 'Import');
      await press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Import' }).waitFor();
      const chooser = page.waitForEvent('filechooser');
      await tabTo('button', /file/i);
      await press('Enter');
      await (await chooser).setFiles(file);
      await page.getByRole('button', { name: 'Import 2 records' }).waitFor();
      await tabTo('button', 'Import 2 records');
      await press('Enter');
      // Leaving while it runs would be asked about.
      await page.getByText('Done: 2 written.').waitFor();
      rmSync(folder, { recursive: true });
    });

    task('invite somebody', 45, async ({ page }, { press, type, isAt, tabTo }) => {
      await press('g', 'm');
      await page.getByRole('heading', { level: 1, name: 'Organization' }).waitFor();
      await tabTo('combobox', 'Organization');
      await type('Analytical');
      await page.getByRole('button', { name: 'Invite' }).waitFor();
      await tabTo('button', 'Invite');
      await press('Enter');
      await isAt('textbox', 'E-mail');
      await type('grace@example.net');
      await press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByText('grace@example.net').first().waitFor();
    });

    task('sign out', 12, async ({ page }, { press, tabTo }) => {
      await press('g', 'a');
      await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
      await tabTo('button', 'Sign out');
      await press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    });
  },
  // Nobody answers there: the host of the webhook does not resolve.
  { UQRP_ORGANIZATIONS: 'on', UQRP_REST_RATE: 'off', UQRP_RESOLVERS: '127.0.0.1:1' },
);
