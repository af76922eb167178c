/** Records: the table, the form, the details, many at once. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../e2e/client.ts';
import { browserTest, effectsRan, recordRow as row } from '../support/browser/dashboard.ts';
import { type Account, account, writeRecords } from '../support/server-process.ts';

const CANARY = '<img src=x onerror=alert(1)>"\'`';

async function open(page: Page, origin: string, query = ''): Promise<void> {
  await page.goto(`${origin}/records${query}`);
  await page.getByRole('heading', { level: 1, name: 'Records' }).waitFor();
}

browserTest('records', (get) => {
  let ada: Account;

  it('are none at first, and a click makes the first', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, 'ada@example.net', 'pro');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await signIn();
    await open(page, origin);
    await page.getByRole('heading', { name: 'No records yet' }).waitFor();
    await axe('no records');
    await shot('records-empty');
    await page.getByRole('button', { name: 'New record' }).click();
    await page.getByRole('textbox', { name: 'Key' }).fill('greeting.acme.v1');
    await page.getByRole('textbox', { name: 'Data' }).fill('hello');
    await page.getByText(/^Fits into one UDP packet: /).waitFor();
    await axe('new record');
    await shot('record-new');
    await page.getByRole('button', { name: 'Save' }).dblclick();
    await row(page, 'greeting.acme.v1').waitFor();
    await page.getByText(/saved .+ · on this node .+ · answered .+/).waitFor();
    await shot('records-arrival');
    const { body } = await ada.call('GET', '/records');
    assert.equal((body as unknown[]).length, 1);
  });

  it('what the server would refuse is said as it is typed, and what it refuses is an alert', async () => {
    const { page, axe, allow } = get();
    allow(/status of 422/);
    await page.getByRole('heading', { level: 1 }).press('c');
    const dialog = page.getByRole('dialog', { name: 'New record' });
    const key = dialog.getByRole('textbox', { name: 'Key' });
    await key.fill(CANARY);
    await dialog.getByText('Each part of a key has 1 to 63 letters').first().waitFor();
    await dialog.getByRole('textbox', { name: 'Data' }).fill('x'.repeat(2587));
    await dialog.getByText('The data has at most 2,586 bytes.').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').waitFor();
    await axe('faults of a record');
    await key.fill('greeting.acme.v1');
    await dialog.getByRole('textbox', { name: 'Data' }).fill(CANARY);
    await dialog.getByText(/^More/).click();
    await dialog.getByRole('combobox', { name: 'Type' }).fill('text/html');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').getByText('Key has already been taken').waitFor();
    await key.fill('canary.acme.v1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'canary.acme.v1').waitFor();
  });

  it('a record in plain text is previewed and stored as it is, and a line end is refused as it is typed', async () => {
    const { page, axe } = get();
    await page.getByRole('button', { name: 'New record' }).click();
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByRole('textbox', { name: 'Key' }).fill('plain.acme.v1');
    await dialog.getByRole('textbox', { name: 'Data' }).fill('a;d=b\n');
    await dialog.getByText(/^More/).click();
    await dialog.getByRole('combobox', { name: 'In DNS answers as' }).selectOption('Plain text');
    await dialog.getByText('Plain text cannot have line ends').waitFor();
    await axe('fault of plain text');
    await dialog.getByRole('textbox', { name: 'Data' }).fill('a;d=b');
    await dialog.getByText('v=svc1;s=ok;t=data;e=plain;f=text;ttl=300;d=a;d=b').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'plain.acme.v1').waitFor();
    const { body } = await ada.call('GET', '/records?key=plain.acme.v1');
    const [stored] = body as { id: string; encoding?: string }[];
    assert.equal(stored?.encoding, 'plain');
    await ada.call('DELETE', `/records/${stored?.id}`);
    // What others delete stays in the list, with a mark.
    await row(page, 'plain.acme.v1').getByText('deleted', { exact: true }).waitFor();
  });

  it('JSON is laid out and minified, and the octets stay when the form of the data changes', async () => {
    const { page } = get();
    await page.getByRole('button', { name: 'New record' }).click();
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByRole('textbox', { name: 'Key' }).fill('flags.acme.v1');
    await dialog.getByRole('textbox', { name: 'Data' }).fill('{"id": 12345678901234567890}');
    await dialog.getByRole('button', { name: 'JSON', exact: true }).click();
    await dialog.getByRole('button', { name: 'Minify' }).click();
    assert.equal(
      await dialog.getByRole('textbox', { name: 'Data' }).inputValue(),
      '{"id":12345678901234567890}',
    );
    await dialog.getByRole('button', { name: 'Base64', exact: true }).click();
    assert.match(await dialog.getByRole('textbox', { name: 'Data' }).inputValue(), /^[A-Za-z0-9+/]+=*$/);
    await dialog.getByRole('button', { name: 'JSON', exact: true }).click();
    await dialog.getByText(/^More/).click();
    await dialog.getByRole('combobox', { name: 'Expires' }).selectOption('in');
    await dialog.getByRole('textbox', { name: 'How many' }).fill('3');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'flags.acme.v1')
      .getByText(/in [23] hr/)
      .waitFor();
  });

  it('a file becomes the data', async () => {
    const { page } = get();
    await page.getByRole('button', { name: 'New record' }).click();
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByRole('textbox', { name: 'Key' }).fill('dot.images.acme.v1');
    await dialog.getByRole('button', { name: 'File', exact: true }).click();
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    await dialog
      .getByLabel('File', { exact: false })
      .last()
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'dot.images.acme.v1')
      .getByText(/^png · /)
      .waitFor();
    const [acme] = (await ada.call('GET', '/namespaces')).body as { id: string }[];
    const tokens = (await ada.call('GET', `/namespaces/${acme?.id}/query_tokens`)).body as unknown[];
    assert.equal(tokens.length, 1, 'all saves of one page load are read with one token');
  });

  it('the details show the data, the record as DNS sees it, and commands', async () => {
    const { page, axe, shot } = get();
    await row(page, 'canary.acme.v1')
      .getByText(/^html · /)
      .click();
    const panel = page.getByRole('dialog', { name: 'canary.acme.v1' });
    await panel.getByText(CANARY).waitFor();
    await page.waitForURL((url) => url.searchParams.has('record'));
    await panel.getByRole('button', { name: 'Hex' }).click();
    await panel.getByText('00000000').waitFor();
    await axe('data of a record');
    await panel.getByRole('tab', { name: 'As DNS sees it' }).click();
    await panel.getByText('The answer is this record').waitFor();
    await axe('a record as DNS sees it');
    await shot('record-dns');
    await panel.getByRole('button', { name: 'Copy as' }).click();
    const copy = page.getByRole('dialog', { name: 'Copy as' });
    for (const name of ['dig', 'curl', 'node', 'python']) {
      await copy.getByRole('tab', { name }).click();
      await copy.getByRole('figure', { name }).getByText('canary.acme.v1').waitFor();
    }
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await row(page, 'dot.images.acme.v1')
      .getByText(/^png · /)
      .click();
    const picture = page.getByRole('img', { name: 'The data as an image' });
    // It is drawn before its octets are decoded.
    await eventually(() =>
      picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth === 1),
    );
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.searchParams.has('record'));
  });

  it('two people change one record: both see what the other did', async () => {
    const { page, context, origin, axe, shot } = get();
    const other = await context.newPage();
    for (const tab of [page, other]) {
      await open(tab, origin);
      await row(tab, 'greeting.acme.v1').getByRole('button', { name: 'Edit' }).click();
      await tab.getByRole('textbox', { name: 'Data' }).waitFor();
    }
    await other.getByRole('textbox', { name: 'Data' }).fill('theirs');
    await other.getByRole('dialog').getByText(/^More/).click();
    await other.getByRole('textbox', { name: /^Suggested cache time/ }).fill('60');
    await other.getByRole('button', { name: 'Save' }).click();
    await row(other, 'greeting.acme.v1')
      .getByTitle(/cache time 60 s$/)
      .waitFor();
    await page.getByRole('textbox', { name: 'Data' }).fill('mine');
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit greeting.acme.v1' });
    await dialog.getByRole('alert').getByText('Somebody else changed this record').waitFor();
    for (const text of ['hello', 'mine', 'theirs']) await dialog.getByText(text, { exact: true }).waitFor();
    await axe('a conflict');
    await shot('record-conflict');
    await dialog.getByRole('radio', { name: 'Data: Yours' }).check();
    await dialog.getByRole('button', { name: 'Save the choice' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await ada.call('GET', '/records?key=greeting.acme.v1');
    const [record] = body as { data: string; ttl_seconds: number }[];
    assert.deepEqual([record?.data, record?.ttl_seconds], [btoa('mine'), 60]);
    await other.close();
  });

  it('one is deleted after a question, also when another tab was faster', async () => {
    const { page, context, origin, allow } = get();
    allow(/status of 404/);
    const other = await context.newPage();
    await open(other, origin);
    // The question stands in both: a tab that hears of the deletion before it asks has no such row any more.
    for (const tab of [other, page])
      await row(tab, 'flags.acme.v1').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row(page, 'flags.acme.v1').waitFor({ state: 'detached' });
    await other.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await other.getByRole('dialog').getByRole('alert').getByText('Record not found').waitFor();
    await other.close();
  });

  it('a deletion is undone from its toast, by a click or a key, with what the record held', async () => {
    const { page, axe, shot } = get();
    const stored = async () =>
      ((await ada.call('GET', '/records?key=greeting.acme.v1')).body as Record<string, unknown>[]).map(
        ({ data, content_type, ttl_seconds }) => ({ data, content_type, ttl_seconds }),
      );
    const before = await stored();
    const deleted = row(page, 'greeting.acme.v1');
    const remove = async (): Promise<void> => {
      await deleted.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await deleted.waitFor({ state: 'detached' });
    };
    await remove();
    const toast = page.getByText('greeting.acme.v1 is deleted.');
    await toast.waitFor();
    await shot('record-undo');
    const undo = page.getByRole('button', { name: 'Undo: greeting.acme.v1 is deleted.' });
    // With the focus in it the toast stays: without it it goes after ten seconds, and axe may take longer.
    await undo.focus();
    await axe('a deletion that can be undone');
    await undo.click();
    await deleted.waitFor();
    await page.getByText('greeting.acme.v1 is back.').waitFor();
    await page.getByRole('heading', { level: 1 }).and(page.locator(':focus')).waitFor();
    assert.deepEqual(await stored(), before);
    await remove();
    await effectsRan(page);
    await page.keyboard.press('z');
    await deleted.waitFor();
    assert.deepEqual(await stored(), before);
  });

  it('an undo does not write over what somebody has made since', async () => {
    const { page, allow } = get();
    allow(/status of 412/);
    const twice = row(page, 'dot.images.acme.v1');
    await twice.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await twice.waitFor({ state: 'detached' });
    await ada.call('POST', '/records', { record: { key: 'dot.images.acme.v1', data: 'bmV3' } });
    await page.getByRole('button', { name: 'Undo: dot.images.acme.v1 is deleted.' }).click();
    await page.getByText('It could not be undone:').waitFor();
    const { body } = await ada.call('GET', '/records?key=dot.images.acme.v1');
    assert.equal((body as { data: string }[])[0]?.data, 'bmV3');
  });

  it('many are changed and deleted at once, in one write', async () => {
    const { page, origin, axe, shot } = get();
    const many = Array.from({ length: 30 }, (_, n) => ({
      key: `n${n}.many.acme.v1`,
      data: 'YQ==',
      content_type: 'text/plain',
    }));
    await writeRecords(ada, many);
    await open(page, origin, '?resource=many');
    await row(page, 'n0.many.acme.v1').waitFor();
    await page.getByRole('checkbox', { name: 'Select all loaded rows' }).click();
    await page.getByText('30 records selected').waitFor();
    await axe('a selection');
    await shot('records-selected');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    assert.equal((await saved).suggestedFilename(), 'records.jsonl');
    await page.getByRole('button', { name: 'Set cache time or expiry' }).click();
    await page
      .getByRole('dialog')
      .getByRole('textbox', { name: /^Suggested cache time/ })
      .fill('7');
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
    const change = page.getByRole('dialog', { name: 'Change 30 records' });
    await change.getByText('This takes 1 write of your 60 a minute.').waitFor();
    await change.getByRole('button', { name: 'Change them' }).click();
    await change.getByText('Done: 30 written.').waitFor();
    await axe('a bulk write');
    await change.getByRole('button', { name: 'Close' }).first().click();
    await row(page, 'n0.many.acme.v1')
      .getByTitle(/cache time 7 s$/)
      .waitFor();
    await page.getByRole('checkbox', { name: 'Select all loaded rows' }).click();
    await page.getByRole('button', { name: 'Delete selected' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 30 records' });
    // Somebody else writes, so the list below the dialog is read again. The answer waits for the deletion, and has no row left.
    const isWritten = Promise.withResolvers<void>();
    const listing = /\/records\?.*resource=many/;
    await page.route(listing, (route) => isWritten.promise.then(() => route.continue()));
    const reading = page.waitForRequest(listing);
    await writeRecords(
      ada,
      many.map((record) => ({ ...record, ttl_seconds: 7 })),
    );
    await reading;
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByText('Done: 30 written.').waitFor();
    isWritten.resolve();
    await page.getByRole('heading', { name: 'Nothing matches this filter' }).waitFor();
    await effectsRan(page);
    await dialog.getByText('Done: 30 written.').waitFor();
    await page.unroute(listing);
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await page.getByText('30 records are deleted.').waitFor();
    await page.getByRole('button', { name: 'Undo: 30 records are deleted.' }).click();
    await row(page, 'n0.many.acme.v1')
      .getByTitle(/cache time 7 s$/)
      .waitFor();
    await page.getByText(/^30 of /).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await row(page, 'greeting.acme.v1').waitFor();
    // In a long list a new record is below the rows that are in the document.
    await ada.call('POST', '/records/bulk', { delete: many.map(({ key }) => key) });
  });

  it('50,000 are scrolled with fewer than 200 rows in the document, and the first row is there soon', async () => {
    const { page, origin } = get();
    await ada.call('POST', '/namespaces', { namespace: { name: 'big' } });
    const some = function* () {
      for (let n = 0; n < 49_000; n += 1)
        yield { key: `n${n}.big.big.v1`, data: 'YQ==', content_type: 'text/plain' };
    };
    await writeRecords(ada, some());
    const started = performance.now();
    await open(page, origin, '?namespace=big');
    await row(page, 'n0.big.big.v1').waitFor();
    const first = performance.now() - started;
    const table = page.getByRole('table', { name: 'Records' });
    let most = 0;
    for (let steps = 0; steps < 3000; steps += 1) {
      const [rows, isEnd] = await table.evaluate((element) => {
        const box = element as unknown as {
          scrollTop: number;
          scrollHeight: number;
          clientHeight: number;
          querySelectorAll(s: string): { length: number };
        };
        box.scrollTop = box.scrollHeight;
        return [box.querySelectorAll('[role=row]').length, box.scrollTop] as const;
      });
      most = Math.max(most, rows);
      if (isEnd > 48_900 * 40) break;
      await page.waitForTimeout(10);
    }
    // The last one in the order of keys.
    await row(page, 'n9999.big.big.v1').waitFor();
    assert.ok(most < 200, `${most} rows`);
    await page.getByText(/^49,000 of /).waitFor();
    process.stdout.write(
      `first row of 49,000 records: ${Math.round(first)} ms; at most ${most} rows in the document\n`,
    );
    await page.getByRole('searchbox', { name: 'Search' }).fill('n4899.');
    await row(page, 'n4899.big.big.v1').waitFor();
    await page.waitForURL((url) => url.searchParams.get('search') === 'n4899.');
  });

  it('offline the form stays, and saves when the server is back', async () => {
    const { page, origin, context, allow } = get();
    allow(/ERR_INTERNET_DISCONNECTED/);
    await open(page, origin, '?namespace=acme');
    await row(page, 'greeting.acme.v1').waitFor();
    await page.getByRole('button', { name: 'New record' }).click();
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByRole('textbox', { name: 'Key' }).fill('offline.acme.v1');
    await dialog.getByRole('textbox', { name: 'Data' }).fill('still here');
    await context.setOffline(true);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await context.setOffline(false);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row(page, 'offline.acme.v1').waitFor();
  });
});
