/** History: switched on, compared, restored, undone, erased, switched off. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { browserTest, recordRow } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

const KEY = 'greeting.acme.v1';

function row(page: Page, key = KEY): Locator {
  return recordRow(page, key);
}

function version(within: Locator, number: number): Locator {
  return within.getByRole('listitem').filter({ hasText: `Version ${number}` });
}

interface Stored {
  readonly id: string;
  readonly data: string;
  readonly content_type: string;
}

browserTest('history', (get) => {
  let ada: Account;

  async function stored(): Promise<Stored[]> {
    return (await ada.call('GET', `/records?key=${KEY}`)).body as Stored[];
  }

  async function write(text: string, type = 'text/plain'): Promise<void> {
    const record = { key: KEY, data: btoa(text), content_type: type };
    assert.equal((await ada.call('POST', '/records/bulk', { records: [record] })).status, 200);
  }

  it('is off at first; a record says so and leads to the settings', async () => {
    const { page, origin, server, signIn, axe } = get();
    ada = account(server, 'ada@example.net', 'pro');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await write('zero');
    await signIn();
    await page.goto(`${origin}/namespaces/acme`);
    await row(page)
      .getByText(/^text · /)
      .click();
    const panel = page.getByRole('dialog', { name: KEY });
    await panel.getByRole('tab', { name: 'History' }).click();
    await panel.getByText('acme keeps no history').waitFor();
    await axe('a record without history');
    await panel.getByRole('link', { name: 'Settings of the namespace' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    await page.getByText('is erased within ten seconds, and nobody can bring it back').waitFor();
    await axe('history that is off');
  });

  it('is switched on in the settings, which say what it means for erasure', async () => {
    const { page, axe, shot, allow } = get();
    allow(/status of 422/);
    const versions = page.getByLabel('Versions of a record at most');
    await versions.fill('101');
    await page.getByRole('button', { name: 'Keep history' }).click();
    await page
      .getByRole('alert')
      .getByText(/versions/)
      .waitFor();
    await versions.fill('20');
    await page.getByRole('button', { name: 'Keep history' }).click();
    await page.getByText('acme keeps history now.').waitFor();
    await page.getByText('On since').waitFor();
    await axe('history that is on');
    await shot('namespace-history');
  });

  it('limits that another owner has set meanwhile are shown, and not put back by a form that was open', async () => {
    const { page } = get();
    const [acme] = (await ada.call('GET', '/namespaces')).body as { id: string }[];
    const path = `/namespaces/${acme?.id}`;
    const kept = async (): Promise<unknown> => {
      const { versions, days } = ((await ada.call('GET', path)).body as { history: Record<string, number> })
        .history;
      return [versions, days];
    };
    await ada.call('PATCH', path, { namespace: { history: { versions: 100, days: 90 } } });
    const save = page.getByRole('button', { name: 'Save' });
    await page.getByLabel('Days at most').fill('120');
    await save.click();
    await page.getByRole('alert').getByText('to 100 versions and 90 days meanwhile').waitFor();
    assert.deepEqual(await kept(), [100, 90]);
    assert.equal(await page.getByLabel('Versions of a record at most').inputValue(), '100');
    await save.click();
    await page.getByText('The history has the new limits now.').waitFor();
    assert.deepEqual(await kept(), [100, 120]);
    await ada.call('PATCH', path, { namespace: { history: { versions: 20, days: 90 } } });
  });

  it('versions are compared, as JSON, as text and as octets', async () => {
    const { page, origin, axe, shot } = get();
    await write('{"on":true,"id":12345678901234567890}', 'application/json');
    await write('{"on":false,"id":12345678901234567890}', 'application/json');
    await write('<img src=x onerror=alert(1)>\nlast', 'text/html');
    await page.goto(`${origin}/namespaces/acme`);
    await row(page)
      .getByText(/^html · /)
      .click();
    const panel = page.getByRole('dialog', { name: KEY });
    await panel.getByRole('tab', { name: 'History' }).click();
    const first = version(panel, 1);
    await first.getByRole('button', { name: 'Compare Version 1' }).click();
    await first.getByRole('deletion').getByText('zero').waitFor();
    await first.getByRole('insertion').getByText('<img src=x onerror=alert(1)>').waitFor();
    await first.getByRole('insertion').getByText('text/html', { exact: true }).waitFor();
    await first.getByRole('button', { name: 'Compare Version 1' }).click();
    const third = version(panel, 3);
    await third.getByRole('button', { name: 'Compare Version 3' }).click();
    await third.getByRole('combobox', { name: 'Compare with' }).selectOption('before');
    await third.getByRole('deletion').getByText('"on": true').waitFor();
    await third.getByRole('insertion').getByText('"on": false').waitFor();
    assert.equal(await third.getByRole('insertion').count(), 1);
    await axe('versions of a record');
    await shot('record-history');
  });

  it('one is restored as it was, unless somebody else was faster, and the restore is undone', async () => {
    const { page, allow } = get();
    allow(/status of 412/);
    const panel = page.getByRole('dialog', { name: KEY });
    const ask = (number: number): Promise<void> =>
      version(panel, number)
        .getByRole('button', { name: `Restore Version ${number}` })
        .click();
    const confirm = (number: number): Promise<void> =>
      page
        .getByRole('dialog', { name: `Restore version ${number}` })
        .getByRole('button', { name: 'Restore', exact: true })
        .click();
    await ask(2);
    await confirm(2);
    await version(panel, 5).getByText('present value').waitFor();
    const [now] = await stored();
    assert.deepEqual(
      [atob(now?.data ?? ''), now?.content_type],
      ['{"on":true,"id":12345678901234567890}', 'application/json'],
    );
    await page.getByRole('button', { name: 'Undo: greeting.acme.v1 has the value of version 2' }).waitFor({
      state: 'attached',
    });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Undo: greeting.acme.v1 has/ }).click();
    await row(page)
      .getByText(/^html · /)
      .click();
    await panel.getByRole('tab', { name: 'History' }).click();
    await version(panel, 6).getByText('present value').waitFor();
    assert.equal((await stored())[0]?.content_type, 'text/html');
    // Once the question is asked: before it, the page may hear of the write and show it.
    await ask(1);
    await write('of somebody else');
    await confirm(1);
    const dialog = page.getByRole('dialog', { name: 'Restore version 1' });
    await dialog.getByRole('alert').getByText('Somebody changed this record').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await version(panel, 7).getByText('present value').waitFor();
    assert.equal(atob((await stored())[0]?.data ?? ''), 'of somebody else');
    await page.keyboard.press('Escape');
  });

  it('a deleted record is undone from its history, and restored from the history of its key', async () => {
    const { page, origin, axe, shot } = get();
    await row(page).getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete the record' });
    await question.getByText('stays as a version for up to 90 days').waitFor();
    await axe('a deletion with history');
    await question.getByRole('button', { name: 'Delete' }).click();
    await row(page).waitFor({ state: 'detached' });
    assert.equal((await stored()).length, 0);
    await page.getByRole('button', { name: `Undo: ${KEY} is deleted.` }).click();
    await row(page).waitFor();
    assert.equal(atob((await stored())[0]?.data ?? ''), 'of somebody else');
    await ada.call('DELETE', `/records/${(await stored())[0]?.id}`);
    await page.goto(`${origin}/records?history=${KEY}`);
    const panel = page.getByRole('dialog', { name: `History of ${KEY}` });
    await panel.getByText('There is no record of this key now.').waitFor();
    await axe('history of a deleted record');
    await shot('record-history-deleted');
    await version(panel, 1).getByRole('button', { name: 'Restore Version 1' }).click();
    await page
      .getByRole('dialog', { name: 'Restore version 1' })
      .getByRole('button', { name: 'Restore', exact: true })
      .click();
    await panel.getByText('present value').waitFor();
    assert.equal(atob((await stored())[0]?.data ?? ''), 'zero');
  });

  it('versions of a key are erased, a deletion can take them with it, and the end of the history takes all', async () => {
    const { page, origin } = get();
    const panel = page.getByRole('dialog', { name: `History of ${KEY}` });
    await panel.getByRole('button', { name: 'Erase the versions' }).click();
    await page
      .getByRole('dialog', { name: 'Erase the versions' })
      .getByRole('button', { name: 'Erase', exact: true })
      .click();
    await version(panel, 1).waitFor({ state: 'detached' });
    await write('once more');
    await page.goto(`${origin}/namespaces/acme`);
    await row(page).getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete the record' });
    await question.getByRole('checkbox', { name: 'Erase its versions too' }).check();
    await question.getByRole('button', { name: 'Delete' }).click();
    await page.getByText(`${KEY} is deleted.`).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Undo/ }).count(), 0);
    const [acme] = (await ada.call('GET', '/namespaces')).body as { id: string }[];
    const kept = async () => (await ada.call('GET', `/namespaces/${acme?.id}/versions?key=${KEY}`)).body;
    assert.deepEqual(((await kept()) as { versions: unknown[] }).versions, []);
    await page.goto(`${origin}/namespaces/acme?tab=settings`);
    await page.getByRole('button', { name: 'Switch off and erase' }).click();
    const end = page.getByRole('dialog', { name: 'Switch off and erase' });
    await end.getByRole('textbox').fill('acme');
    await end.getByRole('button', { name: 'Switch off', exact: true }).click();
    await page.getByText('The history of acme has ended').waitFor();
    await page.getByRole('button', { name: 'Keep history' }).waitFor();
  });
});
