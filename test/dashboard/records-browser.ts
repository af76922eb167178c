/** Records as a data browser: values in the list, search, order, selection of all that match, values changed in their place. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../e2e/client.ts';
import { browserTest, effectsRan, recordRow as row } from '../support/browser/dashboard.ts';
import { type Account, account, writeRecords } from '../support/server-process.ts';

const LONG = 'x'.repeat(63);
const MANY = 1_500;

function userKey(n: number): string {
  return `user-${String(n).padStart(4, '0')}.dark-mode.acme.v1`;
}

async function open(page: Page, origin: string, query = ''): Promise<void> {
  await page.goto(`${origin}/records${query}`);
  await page.getByRole('row').nth(1).waitFor();
  await effectsRan(page);
}

async function keys(page: Page): Promise<string[]> {
  return await page.getByRole('rowheader').allTextContents();
}

browserTest('records-browser', (get) => {
  let ada: Account;

  it('the list shows values: text, JSON in one line, pictures, octets, and what one cannot see', async () => {
    const { page, origin, server, signIn, axe } = get();
    ada = account(server, 'ada@example.net', 'pro');
    for (const name of ['acme', 'iot']) await ada.call('POST', '/namespaces', { namespace: { name } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');
    const sealed = new Uint8Array(60).fill(0xab);
    sealed[0] = 2;
    await writeRecords(
      ada,
      Array.from({ length: MANY }, (_, n) => ({
        key: userKey(n),
        data: base64(n % 2 === 0 ? 'on' : 'off'),
        content_type: 'text/plain',
      })),
    );
    await writeRecords(ada, [
      { key: 's1.temp.iot.v1', data: base64('{ "c": 23.08,\n "rh": 61 }'), content_type: 'application/json' },
      { key: 'a-banner.acme.v1', data: base64('to\u202Eday\u200B'), content_type: 'text/plain' },
      { key: 'a-dot.acme.v1', data: base64('<svg/>'), content_type: 'image/svg+xml' },
      { key: 'a-blob.acme.v1', data: base64(Uint8Array.of(255, 0, 16)) },
      { key: 'a-secret.acme.v1', data: base64(sealed) },
      { key: `one.${LONG}.acme.v1`, data: base64('long'), content_type: 'text/plain' },
    ]);
    await signIn();
    await open(page, origin);
    await page.getByRole('columnheader', { name: 'Value', exact: true }).waitFor();
    await row(page, 'a-banner.acme.v1').getByText('U+202E').waitFor();
    await row(page, 'a-banner.acme.v1').getByText('U+200B').waitFor();
    await row(page, 'a-dot.acme.v1').getByText('SVG', { exact: true }).waitFor();
    await row(page, 'a-blob.acme.v1').getByText('ff 00 10').waitFor();
    await row(page, 'a-secret.acme.v1').getByText('encrypted, key abababababababab').waitFor();
    await row(page, 's1.temp.iot.v1').getByText('{"c":23.08,"rh":61}').waitFor();
    await row(page, userKey(0)).getByText('on', { exact: true }).waitFor();
    await page.getByText('1,506 records', { exact: true }).waitFor();
    await axe('records with values');
  });

  it('a phone has cards of two lines, and none is wider than the page', async () => {
    const { page } = get();
    await page.setViewportSize({ width: 390, height: 844 });
    const card = row(page, 'a-banner.acme.v1');
    const [key, value] = [card.getByRole('rowheader'), card.getByText('U+202E')];
    await value.scrollIntoViewIfNeeded();
    const [above, below, whole] = [
      await key.boundingBox(),
      await value.boundingBox(),
      await card.boundingBox(),
    ];
    assert.ok(above!.y + above!.height <= below!.y + below!.height && above!.y < below!.y);
    assert.ok(whole!.width <= 390);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('what is typed is the begin of a key, else a resource, else a namespace, and the page says which', async () => {
    const { page } = get();
    await page.keyboard.press('/');
    await page.keyboard.type('dark-mode');
    await page.getByText('No key begins with “dark-mode”: this is the resource.').waitFor();
    await page.getByText('1,500 of 1,506').waitFor();
    await eventually(async () => (await keys(page))[0] === userKey(0));
    await page.keyboard.press('Control+A');
    await page.keyboard.type('iot');
    await page
      .getByText('No key begins with “iot” and no resource has this name: this is the namespace.')
      .waitFor();
    await eventually(async () => (await keys(page)).join(' ') === 's1.temp.iot.v1');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('user-0007');
    await row(page, 's1.temp.iot.v1').waitFor({ state: 'detached' });
    await eventually(async () => (await keys(page)).join(' ') === userKey(7));
    await page.keyboard.press('Control+A');
    await page.keyboard.type('no_such');
    await page
      .getByText('No key begins with “no_such”, and no resource or namespace has this name.')
      .waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('tem');
    const offer = page.getByRole('group', { name: 'Resources' }).getByRole('button', { name: /^temp 1/ });
    await offer.click();
    await page.getByRole('button', { name: 'Take away resource temp' }).waitFor();
    assert.equal(await page.getByRole('searchbox', { name: 'Search' }).inputValue(), '');
    await eventually(async () => (await keys(page)).join(' ') === 's1.temp.iot.v1');
    await page.getByRole('button', { name: 'Take away resource temp' }).click();
    await row(page, 'a-banner.acme.v1').waitFor();
  });

  it('the heads of two columns sort', async () => {
    const { page } = get();
    const key = page.getByRole('columnheader', { name: 'Key' });
    assert.equal(await key.getAttribute('aria-sort'), 'ascending');
    await key.getByRole('button').click();
    await row(page, userKey(MANY - 1)).waitFor();
    assert.equal(await key.getAttribute('aria-sort'), 'descending');
    await ada.call('POST', '/records/bulk', {
      records: [{ key: userKey(700), data: btoa('fresh'), content_type: 'text/plain' }],
    });
    await page.getByRole('columnheader', { name: 'Changed' }).getByRole('button').click();
    await row(page, userKey(700)).getByText('fresh', { exact: true }).waitFor();
    await eventually(async () => (await keys(page))[0]?.includes(userKey(700)) === true);
    await page.waitForURL((url) => url.searchParams.get('sort') === '-updated_at');
  });

  it('a range is selected with Shift, by the mouse and by keys', async () => {
    const { page, origin } = get();
    await open(page, origin, '?resource=dark-mode');
    await page.getByRole('checkbox', { name: userKey(2) }).click();
    await page.getByRole('checkbox', { name: userKey(6) }).click({ modifiers: ['Shift'] });
    await page.getByText('5 records selected').waitFor();
    await page.getByRole('button', { name: 'Clear selection' }).click();
    await page.getByRole('heading', { level: 1 }).click();
    await page.getByRole('table').press('Home');
    await page.keyboard.press('x');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+X');
    await page.getByText('3 records selected').waitFor();
  });

  it('all that match are selected beyond the loaded rows, exported, and deleted in bounded steps', async () => {
    const { page, axe } = get();
    await page.getByRole('button', { name: 'Select all that match' }).click();
    await page.getByText('1,500 records selected').waitFor();
    await axe('all that match are selected');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const lines = (await readFile((await (await saved).path())!, 'utf8')).trim().split('\n');
    assert.equal(lines.length, MANY);
    assert.deepEqual(Object.keys(JSON.parse(lines[0]!)).slice(0, 2), ['key', 'data']);
    // Not this one: it must stay.
    await page.getByRole('checkbox', { name: userKey(1) }).click();
    await page.getByText('1,499 records selected').waitFor();
    await page.getByRole('button', { name: 'Delete selected' }).click();
    const dialog = page
      .getByRole('dialog', { name: 'Delete 1499 records' })
      .or(page.getByRole('dialog', { name: 'Delete 1,499 records' }));
    await dialog.getByText('This takes 3 writes of your').waitFor();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByText('Done: 1,499 written.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await row(page, userKey(0)).waitFor({ state: 'detached' });
    await row(page, userKey(1)).waitFor();
    const { body } = await ada.call('GET', '/records/facets');
    assert.equal((body as { records: number }).records, 7);
  });

  it('what the list shows is exported, also with a filter', async () => {
    const { page, origin } = get();
    await open(page, origin, '?search=a-');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export these records' }).click();
    const lines = (await readFile((await (await saved).path())!, 'utf8')).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { key: string }).key),
      ['a-banner.acme.v1', 'a-blob.acme.v1', 'a-dot.acme.v1', 'a-secret.acme.v1'],
    );
  });

  it('a value is changed in its place: Enter saves, Esc leaves it, and DNS answers it', async () => {
    const { page, origin, axe, shot } = get();
    await open(page, origin, '?namespace=acme');
    const one = row(page, userKey(1));
    // A double click whose second press is held longer than a click waits for it.
    await one.getByText('off', { exact: true }).waitFor();
    await page.evaluate(`(async () => {
      const value = [...document.querySelectorAll('[data-editable]')].find((cell) => cell.textContent.includes('off'));
      const send = (type, detail) => value.dispatchEvent(new MouseEvent(type, { bubbles: true, detail }));
      send('click', 1);
      send('mousedown', 2);
      await new Promise((done) => setTimeout(done, 300));
      send('click', 2);
    })()`);
    const field = page.getByRole('textbox', { name: `Value of ${userKey(1)}` });
    await field.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('never stored');
    await page.keyboard.press('Escape');
    await one.getByText('off', { exact: true }).waitFor();
    await one.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('e');
    await field.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('maybe');
    await axe('a value in its place');
    await page.keyboard.press('Enter');
    await one.getByText('maybe', { exact: true }).waitFor();
    await one.getByText(/^✓ answered in \d/).waitFor();
    await shot('record-in-place');
    const { body } = await ada.call('GET', `/records?key=${userKey(1)}`);
    const [record] = body as { data: string; content_type: string }[];
    assert.deepEqual([atob(record!.data), record!.content_type], ['maybe', 'text/plain']);
    // More than a line of text has the form.
    await row(page, 'a-blob.acme.v1').getByText('ff 00 10').dblclick();
    await page.getByRole('dialog', { name: 'Edit a-blob.acme.v1' }).waitFor();
    await page.keyboard.press('Escape');
  });

  it('what somebody else changed in that moment is shown beside', async () => {
    const { page, origin } = get();
    await open(page, origin, '?namespace=acme');
    await row(page, userKey(1)).getByText('maybe', { exact: true }).dblclick();
    // At once: the first letter is the field's, not a shortcut of the row.
    await page.keyboard.type('mine');
    await ada.call('POST', '/records/bulk', {
      records: [{ key: userKey(1), data: btoa('theirs'), content_type: 'text/plain' }],
    });
    await page.keyboard.press('Enter');
    const form = page.getByRole('dialog', { name: `Edit ${userKey(1)}` });
    for (const text of ['maybe', 'mine', 'theirs']) await form.getByText(text, { exact: true }).waitFor();
    await form.getByRole('button', { name: 'Keep editing' }).click();
    assert.equal(await form.getByRole('textbox', { name: 'Data' }).inputValue(), 'mine');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByRole('radio', { name: 'Data: Yours' }).check();
    await form.getByRole('button', { name: 'Save the choice' }).click();
    await row(page, userKey(1)).getByText('mine', { exact: true }).waitFor();
  });

  it('a save in a place that fails late takes nothing from the field of the next row', async () => {
    const { page, origin, allow } = get();
    allow(/status of 503/);
    const values = { 'a-late.acme.v1': 'alpha', 'a-next.acme.v1': 'beta' };
    await writeRecords(
      ada,
      Object.entries(values).map(([key, text]) => ({ key, data: btoa(text), content_type: 'text/plain' })),
    );
    await open(page, origin, '?namespace=acme');
    const [late, next] = [row(page, 'a-late.acme.v1'), row(page, 'a-next.acme.v1')];
    const fieldOf = (key: string) => page.getByRole('textbox', { name: `Value of ${key}` });
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v1/records/*', async (route) => {
      if (route.request().method() !== 'PATCH') return await route.fallback();
      await held.promise;
      await route.fulfill({ status: 503, body: 'busy' });
    });
    await late.getByText('alpha', { exact: true }).dblclick();
    await fieldOf('a-late.acme.v1').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('alpha two');
    await page.keyboard.press('Enter');
    await next.getByText('beta', { exact: true }).dblclick();
    await fieldOf('a-next.acme.v1').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('beta ');
    held.resolve();
    await page.getByText('a-late.acme.v1 is not saved, and what you typed is still in its field.').waitFor();
    await page.keyboard.type('two');
    assert.equal(await fieldOf('a-late.acme.v1').inputValue(), 'alpha two');
    await page.unroute('**/api/v1/records/*');
    await page.keyboard.press('Enter');
    await next.getByText('beta two', { exact: true }).waitFor();
    await fieldOf('a-late.acme.v1').press('Enter');
    await late.getByText('alpha two', { exact: true }).waitFor();
  });

  it('what is typed in a place is not lost to a link without a question', async () => {
    const { page, origin } = get();
    await open(page, origin, '?namespace=acme');
    await row(page, 'a-next.acme.v1').getByText('beta two', { exact: true }).dblclick();
    const field = page.getByRole('textbox', { name: 'Value of a-next.acme.v1' });
    await field.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('an hour of work');
    const asked = page.waitForEvent('dialog').then(async (question) => {
      await question.dismiss();
      return question.message();
    });
    await page.getByRole('link', { name: 'Namespaces' }).first().click();
    assert.equal(await asked, 'What you have typed is not saved. Leave this page?');
    assert.equal(await field.inputValue(), 'an hour of work');
    await field.press('Escape');
    await field.waitFor({ state: 'detached' });
    // The tab of a namespace goes with what is in it, and a filter does not.
    await page.goto(`${origin}/namespaces/acme?search=a-next`);
    await row(page, 'a-next.acme.v1').getByText('beta two', { exact: true }).dblclick();
    await field.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('another hour');
    await page.getByRole('columnheader', { name: 'Key' }).getByRole('button').click();
    await page.waitForURL((url) => url.searchParams.has('sort'));
    const askedOfTab = page.waitForEvent('dialog').then((question) => question.dismiss());
    await page.getByRole('tab', { name: 'Changes' }).click();
    await askedOfTab;
    assert.equal(await field.inputValue(), 'another hour');
    await field.press('Escape');
    await page.getByRole('link', { name: 'Namespaces' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Namespaces' }).waitFor();
  });

  it('a row that is gone elsewhere leaves the list when somebody asks for it, and Refresh reads it again', async () => {
    const { page, origin, allow } = get();
    allow(/status of 404/);
    // Nothing tells this page of changes.
    await page.route(/\/changes/, (route) => route.abort());
    allow(/ERR_FAILED/);
    await open(page, origin, '?namespace=acme');
    for (const key of ['a-dot.acme.v1', 'a-blob.acme.v1', 'a-secret.acme.v1'])
      await ada.call('POST', '/records/bulk', { delete: [key] });
    await row(page, 'a-dot.acme.v1')
      .getByText(/^svg · /)
      .click();
    await page.getByRole('dialog').getByText('Record not found').waitFor();
    await page.keyboard.press('Escape');
    await row(page, 'a-dot.acme.v1').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await row(page, 'a-secret.acme.v1').waitFor({ state: 'detached' });
    await page.unroute(/\/changes/);
  });

  it('the commands of a record open over its panel, and Esc closes them alone', async () => {
    const { page, origin, context } = get();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open(page, origin, '?namespace=acme');
    const one = row(page, `one.${LONG}.acme.v1`);
    await one.getByRole('button', { name: 'Copy dig' }).click();
    await page.getByText('is copied.').waitFor();
    assert.match(String(await page.evaluate('navigator.clipboard.readText()')), /^dig .*TXT/);
    await one.getByText('text · 4 bytes').click();
    const panel = page.getByRole('dialog', { name: `one.${LONG}.acme.v1` });
    await panel.getByRole('tab', { name: 'History' }).waitFor();
    assert.deepEqual(await panel.getByRole('tab').allTextContents(), ['Data', 'As DNS sees it', 'History']);
    await panel.getByRole('button', { name: 'Copy as' }).click();
    const copy = page.getByRole('dialog', { name: 'Copy as' });
    await copy.getByRole('tab', { name: 'curl' }).click();
    const box = (await copy.boundingBox())!;
    assert.ok(box.x >= 0 && box.x + box.width <= 1280);
    await page.keyboard.press('Escape');
    await copy.waitFor({ state: 'hidden' });
    await panel.getByText('text/plain').waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
  });

  it('everything is done by keyboard alone', async () => {
    const { page, origin } = get();
    await open(page, origin, '?namespace=acme');
    await row(page, 'a-banner.acme.v1').waitFor();
    await effectsRan(page);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 record selected').waitFor();
    await page.keyboard.press('x');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The form by Shift+E; `e` alone changes the value in its place.
    await page.keyboard.press('Shift+E');
    const form = page.getByRole('dialog', { name: /^Edit / });
    await form.getByRole('textbox', { name: 'Data' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('off');
    await row(page, 'a-banner.acme.v1').waitFor({ state: 'detached' });
  });
});
