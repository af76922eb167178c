/** Changes by others: marks on records in view, the tab Changes, quiet announcements. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { eventually } from '../e2e/client.ts';
import { browserTest, recordRow as row } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

/** @returns how many answers there were since, also those that came while the page was loading */
function counted(page: Page, address: RegExp): () => number {
  let count = 0;
  page.on('response', (response) => {
    if (address.test(response.url())) count += 1;
  });
  return () => count;
}

browserTest('changes', (get) => {
  let ada: Account;

  async function put(key: string, text: string, more: object = {}): Promise<void> {
    const records = [{ key, data: btoa(text), content_type: 'text/plain', ...more }];
    assert.equal((await ada.call('POST', '/records/bulk', { records })).status, 200);
  }

  async function remove(key: string): Promise<void> {
    const [found] = (await ada.call('GET', `/records?key=${key}`)).body as { id: string }[];
    assert.equal((await ada.call('DELETE', `/records/${found?.id}`)).status, 204);
  }

  it('a record that others change is read again and marked, a new one appears, a deleted one stays with a mark', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, 'ada@example.net', 'pro');
    for (const name of ['acme', 'beta']) await ada.call('POST', '/namespaces', { namespace: { name } });
    for (const key of ['a.acme.v1', 'b.acme.v1', 'c.acme.v1']) await put(key, 'one');
    await signIn();
    const streams = counted(page, /\/changes\/stream/);
    await page.goto(`${origin}/namespaces/acme`);
    await row(page, 'a.acme.v1').waitFor();
    await eventually(async () => streams() > 0);
    await put('a.acme.v1', 'longer than one');
    await row(page, 'a.acme.v1').getByText('changed', { exact: true }).waitFor();
    await row(page, 'a.acme.v1').getByText('text · 15 bytes').waitFor();
    await page.getByRole('status').getByText('By others, since you opened this: 1 changed.').waitFor();
    await put('other.beta.v1', 'of another namespace');
    await put('d.acme.v1', 'fresh');
    await row(page, 'd.acme.v1').getByText('new', { exact: true }).waitFor();
    await remove('b.acme.v1');
    await row(page, 'b.acme.v1').getByText('deleted', { exact: true }).waitFor();
    await page.getByText('By others, since you opened this: 1 new, 1 changed, 1 deleted.').waitFor();
    await axe('records that others change');
    await shot('records-live');
    await page.getByRole('button', { name: 'Show them' }).click();
    await row(page, 'b.acme.v1').waitFor({ state: 'detached' });
    assert.equal(await page.getByText('By others, since you opened this').count(), 0);
  });

  it('own writes and deletions are no news', async () => {
    const { page } = get();
    await row(page, 'c.acme.v1').getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Data' }).fill('mine');
    await page.getByRole('button', { name: 'Save' }).click();
    await row(page, 'c.acme.v1').getByText('text · 4 bytes').waitFor();
    await row(page, 'd.acme.v1').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row(page, 'd.acme.v1').waitFor({ state: 'detached' });
    // What others do after it comes later in the feed: by then the own changes have come too.
    await put('a.acme.v1', 'after');
    await row(page, 'a.acme.v1').getByText('changed', { exact: true }).waitFor();
    await page.getByText('By others, since you opened this: 1 changed.').waitFor();
    await page.getByRole('button', { name: 'Clear marks' }).click();
    await row(page, 'a.acme.v1').getByText('changed', { exact: true }).waitFor({ state: 'detached' });
  });

  it('the details show the new value and say so; the form says that there will be a choice', async () => {
    const { page, axe, allow } = get();
    // The record may be read at the moment in which it is deleted.
    allow(/status of 404/);
    await row(page, 'a.acme.v1')
      .getByText(/^text · /)
      .click();
    const panel = page.getByRole('dialog', { name: 'a.acme.v1' });
    await panel.getByText('after', { exact: true }).waitFor();
    await put('a.acme.v1', 'under your eyes');
    await panel.getByText('under your eyes').waitFor();
    await panel.getByRole('status').getByText('Somebody else changed this record at').waitFor();
    await axe('details of a record that changes');
    await panel.getByRole('button', { name: 'Edit' }).click();
    const form = page.getByRole('dialog', { name: 'Edit a.acme.v1' });
    await form.getByRole('textbox', { name: 'Data' }).fill('mine');
    await put('a.acme.v1', 'theirs');
    await form.getByText('Somebody else has changed this record since you opened it.').waitFor();
    await axe('a form whose record has changed');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').getByText('Somebody else changed this record').waitFor();
    await form.getByRole('radio', { name: 'Data: Yours' }).check();
    await form.getByRole('button', { name: 'Save the choice' }).click();
    await form.waitFor({ state: 'detached' });
    await remove('a.acme.v1');
    await panel.getByRole('status').getByText('Somebody else deleted this record at').waitFor();
    await page.keyboard.press('Escape');
  });

  it('the tab Changes lists them since the page was opened, with ways to follow them from a program', async () => {
    const { page, axe, shot } = get();
    await put('short.acme.v1', 'soon gone', { expires_in: 1 });
    await page.getByRole('tab', { name: 'Changes' }).click();
    await page.waitForURL((url) => url.searchParams.get('tab') === 'changes');
    await row(page, 'short.acme.v1').getByText('expired').waitFor();
    await row(page, 'b.acme.v1').getByText('deleted').waitFor();
    assert.equal(await row(page, 'other.beta.v1').count(), 0);
    await axe('changes of a namespace');
    await shot('namespace-changes');
    await page.getByRole('button', { name: 'Follow from a program' }).click();
    const follow = page.getByRole('dialog', { name: 'Follow from a program' });
    for (const name of ['curl', 'uqrp', 'node']) {
      await follow.getByRole('tab', { name }).click();
      await follow.getByRole('figure', { name }).getByText('acme').waitFor();
    }
    await page.keyboard.press('Escape');
  });

  it('what changed while the window was hidden or the server away comes after it', async () => {
    const { page, context, allow } = get();
    allow(/ERR_INTERNET_DISCONNECTED/);
    const hide = async (isHidden: boolean): Promise<void> => {
      await page.evaluate(`Object.defineProperty(document, 'visibilityState', {
        configurable: true, get: () => '${isHidden ? 'hidden' : 'visible'}',
      }); document.dispatchEvent(new Event('visibilitychange'))`);
    };
    await hide(true);
    await page.getByText('Not live while this page is out of view.').waitFor();
    await put('hidden.acme.v1', 'x');
    await hide(false);
    await row(page, 'hidden.acme.v1').getByText('written').waitFor();
    await context.setOffline(true);
    await put('offline.acme.v1', 'x');
    await context.setOffline(false);
    await row(page, 'offline.acme.v1').getByText('written').waitFor();
  });

  it('where changes are missing the page says so, and the records are read again', async () => {
    const { page, origin } = get();
    const { next } = (await ada.call('GET', '/changes')).body as { next: string };
    const reset = `event: reset\nid: ${next}\ndata: {"reason":"too_old","cursor":"${next}"}\n\n`;
    const reads = counted(page, /\/records\?/);
    // After the list: a screen that is loaded later than this reads its list once, after the reset.
    const answer = async (route: Route): Promise<void> => {
      await eventually(async () => reads() > 0);
      await route.fulfill({ contentType: 'text/event-stream', body: reset });
    };
    await page.route(/\/changes\/stream/, answer, { times: 1 });
    await page.goto(`${origin}/namespaces/acme`);
    await eventually(async () => reads() > 1);
    await page.getByRole('tab', { name: 'Changes' }).click();
    await page.getByText('Older changes were left out here.').waitFor();
  });
});
