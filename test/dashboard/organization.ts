/** Organizations: one is made, a colleague invited and joined by the link, roles, switching, leaving and dissolving. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../e2e/client.ts';
import { browserTest, type Dashboard } from '../support/browser/dashboard.ts';

const GRACE = 'grace@example.net';

browserTest(
  'organizations',
  (get) => {
    let grace: Page;
    let printed = '';

    const invite = async (email: string): Promise<string> => {
      const { page } = get();
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      const form = page.getByRole('dialog', { name: 'Invite to Acme' });
      // The focus is in the field: nothing is clicked before typing.
      await form.getByRole('textbox', { name: 'E-mail' }).waitFor();
      await page.keyboard.type(email);
      await form.getByRole('button', { name: 'Send invitation' }).click();
      await page
        .getByRole('table', { name: 'Invitations' })
        .getByRole('rowheader', { name: email })
        .waitFor();
      const line = new RegExp(`^([0-9a-f]{64}) is an invitation of ${email},`, 'm');
      await eventually(async () => line.test(printed));
      return line.exec(printed)![1]!;
    };

    it('are made in the page, which then acts for the new one', async () => {
      const { page, server, signIn, axe } = get();
      server.child.stdout?.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
      });
      await signIn();
      await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: 'Organization' })
        .click();
      await page.getByRole('heading', { name: 'You belong to no organization' }).waitFor();
      await axe('no organization');
      await page.getByRole('button', { name: 'New organization' }).click();
      const form = page.getByRole('dialog', { name: 'New organization' });
      await form.getByRole('textbox', { name: 'Name' }).waitFor();
      await page.keyboard.type('Acme');
      await axe('a new organization');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Members of Acme' }).waitFor();
      const members = page.getByRole('table', { name: 'Members' });
      await members.getByRole('row').filter({ hasText: 'ada@example.net' }).getByText('owner').waitFor();
      await page.getByRole('banner').getByRole('link', { name: 'Acme' }).waitFor();
    });

    it('invite by mail; an invitation is withdrawn, and another accepted by its link', async () => {
      const { page, origin, signIn, axe } = get();
      await invite('nobody@example.net');
      await page.getByRole('button', { name: 'Withdraw' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
      await page.getByRole('table', { name: 'Invitations' }).waitFor({ state: 'detached' });
      const token = await invite(GRACE);
      await axe('an organization');
      grace = await otherBrowser(get());
      await signIn(grace, GRACE);
      await grace.goto(`${origin}/organization#invitation=${token}`);
      const join = grace.getByRole('dialog', { name: 'Accept an invitation' });
      await join.getByText(`You join as ${GRACE}.`).waitFor();
      assert.ok(!grace.url().includes(token), 'the address does not keep the token');
      await axe('an invitation', grace);
      await join.getByRole('button', { name: 'Join' }).click();
      await grace.getByRole('heading', { name: 'Members of Acme' }).waitFor();
      assert.equal(await grace.getByRole('button', { name: 'Invite', exact: true }).count(), 0, 'no owner');
      await page.reload();
      await page.getByRole('table', { name: 'Members' }).getByRole('rowheader', { name: GRACE }).waitFor();
    });

    it('show a member no control that the server refuses to members', async () => {
      const { page, origin, axe } = get();
      const say = async (path: string, text: string | RegExp): Promise<void> => {
        await grace.goto(`${origin}${path}`);
        await grace.getByText(text).first().waitFor();
      };
      await page.getByRole('link', { name: 'API keys' }).first().click();
      await page.getByRole('button', { name: 'New key' }).click();
      const form = page.getByRole('dialog', { name: 'New key' });
      await form.getByRole('textbox', { name: 'Name' }).fill('ci');
      await form.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: 'I have stored it' }).click();
      await page.getByRole('button', { name: 'Revoke' }).waitFor();
      await say('/api-keys', 'Only an owner of the organization makes and revokes keys.');
      await grace.getByRole('rowheader', { name: 'ci' }).waitFor();
      await axe('API keys of an organization', grace);
      assert.equal(await grace.getByRole('button', { name: /New key|Revoke/ }).count(), 0);
      await grace.keyboard.press('c');
      await grace.keyboard.press('Control+K');
      await grace.keyboard.type('key');
      await grace.getByRole('option', { name: /API keys/ }).waitFor();
      assert.equal(await grace.getByRole('option', { name: /New key|Audit/ }).count(), 0);
      await grace.keyboard.press('Escape');
      await say('/account', 'Only an owner reads the audit log.');
      assert.equal(await grace.getByRole('link', { name: 'Open the audit log' }).count(), 0);
      await grace.getByRole('button', { name: 'Delete account' }).click();
      await grace.getByText('What belongs to organizations stays, without you.').waitFor();
      await say('/webhooks', /uqrp organization tier [0-9a-f-]{36} pro/);
      await grace.goto(`${origin}/namespaces`);
      await grace.getByRole('button', { name: 'New namespace' }).first().click();
      await grace.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('shared-one');
      await grace.keyboard.press('Enter');
      await grace.getByRole('rowheader', { name: 'shared-one' }).waitFor();
      await grace.goto(`${origin}/namespaces/shared-one?tab=tokens`);
      await grace.getByRole('button', { name: 'New token' }).first().click();
      const mint = grace.getByRole('dialog', { name: 'New token' });
      await mint.getByText('At most 30: an owner of the organization may choose more.').waitFor();
      await mint.getByRole('spinbutton', { name: 'Days until it ends' }).fill('31');
      await mint.getByText(/1 to 30/).waitFor();
      await grace.goto(`${origin}/organization`);
      await page.goto(`${origin}/organization`);
    });

    it('change a role, and switch what all tabs show', async () => {
      const { page, origin, context, axe } = get();
      const row = page.getByRole('table', { name: 'Members' }).getByRole('row').filter({ hasText: GRACE });
      await row.getByRole('button', { name: 'Make owner' }).click();
      const sure = page.getByRole('dialog', { name: `Make ${GRACE} an owner?` });
      await axe('another owner');
      await sure.getByRole('button', { name: 'Make owner' }).click();
      await row.getByText('owner', { exact: true }).waitFor();
      const second = await context.newPage();
      await second.goto(`${origin}/webhooks`);
      await second.getByRole('banner').getByRole('link', { name: 'Acme' }).waitFor();
      await page
        .getByRole('combobox', { name: 'Organization' })
        .selectOption({ label: 'Your own account (ada@example.net)' });
      await page.getByRole('heading', { name: 'Members of Acme' }).waitFor({ state: 'detached' });
      await second.getByRole('banner').getByRole('link', { name: 'Acme' }).waitFor({ state: 'detached' });
      await second.close();
      await page.getByRole('combobox', { name: 'Organization' }).selectOption({ label: 'Acme' });
      await page.getByRole('heading', { name: 'Members of Acme' }).waitFor();
    });

    it('are left, and dissolved after their name was typed', async () => {
      const { page } = get();
      await grace.reload();
      await grace.getByRole('button', { name: 'Leave' }).click();
      await grace.getByRole('dialog', { name: 'Leave Acme?' }).getByRole('button', { name: 'Leave' }).click();
      await grace.getByRole('heading', { name: 'You belong to no organization' }).waitFor();
      await page.reload();
      await page.getByText('You are its only owner: to leave, make another member an owner.').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Leave' }).count(), 0);
      await page.getByRole('button', { name: 'Dissolve' }).click();
      const end = page.getByRole('dialog', { name: 'Dissolve Acme?' });
      await end.getByRole('textbox').waitFor();
      await page.keyboard.type('Acme');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'You belong to no organization' }).waitFor();
      await grace.context().close();
    });
  },
  { UQRP_ORGANIZATIONS: 'on' },
);

/** Another person's browser. */
async function otherBrowser({ context }: Dashboard): Promise<Page> {
  const browser = context.browser();
  assert.ok(browser !== null);
  const other = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  return await other.newPage();
}
