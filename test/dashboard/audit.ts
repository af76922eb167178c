/** The audit log: from the account, filtered, with links to what was done. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

const KEY = 'greeting.acme.v1';
const CANARY = 'payload-that-nobody-may-see';

function row(page: Page, action: string): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: action, exact: true }) });
}

browserTest('audit', (get) => {
  let ada: Account;

  it('is reached from the account, and lists who did what', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, 'ada@example.net', 'pro');
    for (const name of ['acme', 'beta']) await ada.call('POST', '/namespaces', { namespace: { name } });
    const record = { key: KEY, data: btoa(CANARY), content_type: 'text/plain' };
    const made = await ada.call('POST', '/records', { record });
    const { id } = made.body as { id: string };
    await ada.call('PATCH', `/records/${id}`, { record: { ttl_seconds: 60 } });
    await ada.call('DELETE', `/records/${id}`);
    server.cli(['namespace', 'public-read', 'beta', 'on']);
    await signIn();
    await page.goto(`${origin}/account`);
    await page.getByRole('link', { name: 'Open the audit log' }).click();
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    for (const action of ['record.created', 'record.changed', 'record.deleted'])
      await row(page, action).getByText('ada@example.net').waitFor();
    assert.equal(await row(page, 'namespace.created').count(), 2);
    await row(page, 'operator.public_read').getByText('beta: on').waitFor();
    assert.equal(await page.getByText(CANARY).count(), 0);
    // The page belongs to the account in the navigation.
    await page.locator('nav [aria-current=page]', { hasText: 'Account' }).waitFor();
    await axe('audit log');
    await shot('audit');
  });

  it('filters stand in the address, and a row leads to the history of its record', async () => {
    const { page, axe, shot } = get();
    await page.getByRole('combobox', { name: 'Action' }).selectOption('namespace.*');
    await row(page, 'record.created').waitFor({ state: 'detached' });
    await page.waitForURL((url) => url.searchParams.get('action') === 'namespace.*');
    await page.getByRole('combobox', { name: 'Namespace' }).selectOption('beta');
    await page.getByText('1 row in all').waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export' }).click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), 'audit.jsonl');
    const lines = readFileSync(await saved.path(), 'utf8')
      .trim()
      .split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { object: object }).object),
      [{ ...JSON.parse(lines[0]!).object, kind: 'namespace', name: 'beta', namespace: 'beta', count: null }],
    );
    await page.getByRole('searchbox', { name: /^Who/ }).fill('nobody@example.net');
    await page.getByText('No row fits these filters.').waitFor();
    await axe('an audit log with nothing in it');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('searchbox', { name: 'Key of a record' }).fill(KEY);
    await row(page, 'namespace.created').first().waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Time' }).selectOption('24');
    await page.waitForURL((url) => url.searchParams.has('since'));
    await row(page, 'record.changed').getByRole('button', { name: 'Details record.changed' }).click();
    const dialog = page.getByRole('dialog', { name: 'record.changed' });
    await dialog.getByText('ETag before').waitFor();
    await axe('a row of the audit log');
    await shot('audit-row');
    await dialog.getByRole('link', { name: KEY }).click();
    await page.getByRole('dialog', { name: `History of ${KEY}` }).waitFor();
    await page.getByText('acme keeps no history').waitFor();
  });

  it('what is typed into the address is no filter, or is text', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/audit?action=%3Cb%3E&since=soon&key=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E`);
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Action' }).inputValue(), '');
    await page.getByText('[params.]resource.namespace.version, such as greeting.acme.v1').waitFor();
    await row(page, 'record.created').waitFor();
  });
});
