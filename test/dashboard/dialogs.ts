/** The feel of dialogs, by keyboard alone: where the focus is, what stays in view, and that nothing typed is lost. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { browserTest, effectsRan } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

interface Opened {
  readonly name: string;
  readonly path: string;
  /** A key of the page, or the name of the button. */
  readonly by: string;
  /** The button is in the row of this name. */
  readonly row?: string;
  readonly dialog: string | RegExp;
  /** Name of what has the focus then. */
  readonly focus: string | RegExp;
  /** It is a field: the letters that are typed stand in it. */
  readonly isField: boolean;
}

const LONG = `one.${'x'.repeat(63)}.acme.v1`;

const DIALOGS: readonly Opened[] = [
  { name: 'palette', path: '/usage', by: 'Control+k', dialog: 'Go to', focus: /^Page/, isField: true },
  {
    name: 'new record',
    path: '/records?namespace=acme',
    by: 'New record',
    dialog: 'New record',
    focus: 'Key',
    isField: true,
  },
  {
    name: 'new record by its key',
    path: '/records',
    by: 'c',
    dialog: 'New record',
    focus: 'Key',
    isField: true,
  },
  {
    name: 'edit a record',
    path: '/records',
    by: 'Edit',
    row: 'greeting.acme.v1',
    dialog: 'Edit greeting.acme.v1',
    focus: 'Data',
    isField: true,
  },
  {
    name: 'delete a record',
    path: '/records',
    by: 'Delete',
    row: 'greeting.acme.v1',
    dialog: 'Delete the record',
    focus: 'Cancel',
    isField: false,
  },
  {
    name: 'new namespace',
    path: '/namespaces',
    by: 'c',
    dialog: 'New namespace',
    focus: 'Name',
    isField: true,
  },
  {
    name: 'delete a namespace',
    path: '/namespaces/acme?tab=danger',
    by: 'Delete acme',
    dialog: 'Delete acme',
    focus: /^Type acme/,
    isField: true,
  },
  {
    name: 'new token',
    path: '/namespaces/acme?tab=tokens',
    by: 'c',
    dialog: 'New token',
    focus: 'Name',
    isField: true,
  },
  {
    name: 'revoke a token',
    path: '/namespaces/acme?tab=tokens',
    by: 'Revoke',
    row: 'office',
    dialog: 'Revoke office',
    focus: 'Cancel',
    isField: false,
  },
  { name: 'new key', path: '/api-keys', by: 'c', dialog: 'New key', focus: 'Name', isField: true },
  {
    name: 'revoke a key',
    path: '/api-keys',
    by: 'Revoke',
    row: 'ci',
    dialog: /^Revoke/,
    focus: 'Cancel',
    isField: false,
  },
  { name: 'new webhook', path: '/webhooks', by: 'c', dialog: 'New webhook', focus: 'Name', isField: true },
  {
    name: 'shortcuts',
    path: '/usage',
    by: '?',
    dialog: 'Keyboard shortcuts',
    focus: 'Close',
    isField: false,
  },
  {
    name: 'delete the account',
    path: '/account',
    by: 'Delete account',
    dialog: /^Delete/,
    focus: /^Type/,
    isField: true,
  },
];

async function open(page: Page, origin: string, { path, by, row, dialog }: Opened): Promise<void> {
  await page.goto(`${origin}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  if (/^(?:\w|\?|Control\+\w)$/.test(by)) {
    await page.getByRole('link', { name: 'Overview' }).first().waitFor();
    await page.locator('main :is(table, [role=table], .note, .cards, p)').first().waitFor();
    await effectsRan(page);
    await page.keyboard.press(by);
  } else {
    const header = page.getByRole('rowheader', { name: row ?? '', exact: true });
    const within = row === undefined ? page : page.getByRole('row').filter({ has: header });
    await within.getByRole('button', { name: by, exact: true }).first().press('Enter');
  }
  await page.getByRole('dialog', { name: dialog }).waitFor();
}

async function assertInView(
  of: Locator,
  { width, height }: { width: number; height: number },
): Promise<void> {
  await of.waitFor();
  const box = await of.boundingBox();
  const isIn =
    box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
  assert.ok(isIn, `${await of.innerText()}: ${JSON.stringify(box)} in ${width} by ${height}`);
}

browserTest('dialogs', (get) => {
  let ada: Account;

  it('open with the focus in the first field or on the safe button, and close is the last by Tab', async () => {
    const { page, origin, server, signIn } = get();
    ada = account(server, 'ada@example.net', 'pro');
    const { body } = await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const { id } = body as { id: string };
    for (const key of ['greeting.acme.v1', LONG])
      await ada.call('POST', '/records', { record: { key, data: 'aGVsbG8=', content_type: 'text/plain' } });
    await ada.call('POST', `/namespaces/${id}/query_tokens`, { name: 'office', expires_in_days: 9 });
    await ada.call('POST', '/api_keys', { api_key: { name: 'ci' } });
    await signIn();
    for (const one of DIALOGS) {
      await open(page, origin, one);
      const dialog = page.getByRole('dialog', { name: one.dialog });
      const focused = dialog.locator(':focus');
      const role = one.isField ? /textbox|combobox/ : /button/;
      await focused.waitFor().catch(() => assert.fail(`${one.name}: no focus in the dialog`));
      const snapshot = await focused.ariaSnapshot();
      assert.match(snapshot, role, one.name);
      assert.ok(
        typeof one.focus === 'string'
          ? snapshot.includes(`"${one.focus}"`)
          : one.focus.test(snapshot.split('"')[1] ?? ''),
        `${one.name}: ${snapshot}`,
      );
      if (!one.isField) continue;
      await page.keyboard.type('zq');
      assert.match(await focused.inputValue(), /zq/, one.name);
      const last = dialog.locator('button, input, select, textarea, summary').last();
      assert.equal(await last.getAttribute('aria-label'), 'Close', one.name);
    }
  });

  it('keep their buttons and what went wrong in view, also on a phone and under a long name', async () => {
    const { page, origin, allow } = get();
    allow(/status of 422/);
    for (const size of [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(size);
      await open(page, origin, DIALOGS[1]!);
      const dialog = page.getByRole('dialog', { name: 'New record' });
      await page.keyboard.press('Control+a');
      await page.keyboard.type('greeting.acme.v1');
      await dialog.getByText('More', { exact: false }).first().click();
      await page.keyboard.press('Control+Enter');
      await dialog.getByRole('alert').getByText('Key has already been taken').waitFor();
      for (const name of ['Save', 'Cancel', 'Open it', 'Close'])
        await assertInView(dialog.getByRole('button', { name, exact: true }), size);
      await assertInView(dialog.getByRole('alert'), size);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Discard' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('rowheader', { name: LONG }).click();
      const panel = page.getByRole('dialog', { name: LONG });
      await assertInView(panel.getByRole('button', { name: 'Close', exact: true }), size);
      await panel.getByRole('button', { name: 'Close', exact: true }).click();
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('ask before they lose what was typed, and bring it back', async () => {
    const { page, origin, axe } = get();
    await open(page, origin, DIALOGS[2]!);
    const dialog = page.getByRole('dialog', { name: 'New record' });
    const key = dialog.getByRole('textbox', { name: 'Key' });
    await page.keyboard.press('Control+a');
    await page.keyboard.type('lost.acme.v1');
    const question = page.getByRole('dialog', { name: 'Discard your changes?' });
    for (const way of ['Escape', 'Cancel', 'Close']) {
      if (way === 'Escape') await page.keyboard.press(way);
      else await dialog.getByRole('button', { name: way, exact: true }).first().click();
      await question.getByRole('button', { name: 'Keep editing' }).and(page.locator(':focus')).waitFor();
      if (way === 'Escape') await axe('the question of a dialog');
      await page.keyboard.press(way === 'Cancel' ? 'Escape' : 'Enter');
      await question.waitFor({ state: 'detached' });
      assert.equal(await key.inputValue(), 'lost.acme.v1');
    }
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('c');
    await key.and(page.locator(':focus')).waitFor();
    assert.notEqual(await key.inputValue(), 'lost.acme.v1');
    await axe('a draft is offered');
    await dialog.getByRole('button', { name: 'Restore' }).click();
    assert.equal(await key.inputValue(), 'lost.acme.v1');
    await dialog.getByRole('textbox', { name: 'Data' }).focus();
    await page.keyboard.type('found');
    await page.keyboard.press('Control+Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('rowheader', { name: 'lost.acme.v1' }).waitFor();
    // What is saved is no draft, and a form without changes closes at once.
    await page.keyboard.press('c');
    await key.and(page.locator(':focus')).waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Restore' }).count(), 0);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('a draft that is restored writes nothing over what somebody else changed meanwhile', async () => {
    const { page, origin } = get();
    const made = await ada.call('POST', '/records', {
      record: { key: 'draft.acme.v1', data: btoa('v1'), content_type: 'text/plain', ttl_seconds: 300 },
    });
    const { id } = made.body as { id: string };
    const edit = { ...DIALOGS[3]!, row: 'draft.acme.v1', dialog: 'Edit draft.acme.v1' };
    await open(page, origin, edit);
    const dialog = page.getByRole('dialog', { name: 'Edit draft.acme.v1' });
    await dialog.getByText(/^More/).click();
    await dialog.getByRole('textbox', { name: /^Suggested cache time/ }).fill('600');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    await ada.call('PATCH', `/records/${id}`, { record: { data: btoa('v2') } });
    const row = page
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: /draft\.acme\.v1$/ }) });
    await row.getByText('v2', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Edit', exact: true }).press('Enter');
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Somebody else changed this record while you were editing.').waitFor();
    for (const text of ['v1', 'v2']) await dialog.getByText(text, { exact: true }).first().waitFor();
    await dialog.getByRole('button', { name: 'Save the choice' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await ada.call('GET', `/records/${id}`);
    const stored = body as { data: string; ttl_seconds: number };
    assert.deepEqual([atob(stored.data), stored.ttl_seconds], ['v2', 600]);
  });

  it('an expiry in a while counts from the save, however long the form was open', async () => {
    const { page, origin } = get();
    await open(page, origin, DIALOGS[2]!);
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByRole('textbox', { name: 'Key' }).fill('late.acme.v1');
    await dialog.getByText(/^More/).click();
    await dialog.getByRole('combobox', { name: 'Expires' }).selectOption('in');
    const hours = 3_600_000;
    await page.evaluate(`{ const now = Date.now; Date.now = () => now() + ${2 * hours}; }`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await ada.call('GET', '/records?key=late.acme.v1');
    const [record] = body as { expires_at: string }[];
    assert.ok(Date.parse(record!.expires_at) > Date.now() + 2.5 * hours, record!.expires_at);
  });

  it('a key that is taken leads to its record, or to the comparison', async () => {
    const { page, origin, allow, axe } = get();
    allow(/status of 422/);
    await open(page, origin, DIALOGS[2]!);
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await page.keyboard.press('Control+a');
    await page.keyboard.type('greeting.acme.v1');
    await dialog.getByRole('textbox', { name: 'Data' }).focus();
    await page.keyboard.type('good evening');
    await page.keyboard.press('Control+Enter');
    await dialog.getByRole('button', { name: 'Replace (compare)' }).click();
    await dialog.getByRole('radio', { name: 'Data: Yours' }).waitFor();
    await axe('a record that exists, compared');
    await dialog.getByRole('button', { name: 'Save the choice' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('c');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('greeting.acme.v1');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Open it' }).click();
    await page.getByRole('dialog', { name: 'greeting.acme.v1' }).getByText('good evening').first().waitFor();
  });

  it('many namespaces are found by typing, and the button stays in view', async () => {
    const { page, origin, server, axe } = get();
    server.cli(['user', 'tier', 'ada@example.net', 'enterprise']);
    for (let n = 0; n < 12; n += 1)
      await ada.call('POST', '/namespaces', { namespace: { name: `shop-${n}` } });
    await open(page, origin, { ...DIALOGS[11]!, dialog: 'New webhook' });
    const dialog = page.getByRole('dialog', { name: 'New webhook' });
    await assertInView(dialog.getByRole('button', { name: 'Create' }), { width: 1280, height: 800 });
    await dialog.getByRole('combobox').focus();
    await page.keyboard.type('op-1');
    await dialog.getByRole('option').nth(2).waitFor();
    assert.deepEqual(await dialog.getByRole('option').allInnerTexts(), ['shop-1', 'shop-10', 'shop-11']);
    await page.keyboard.press('ArrowDown');
    await axe('names found');
    await page.keyboard.press('Enter');
    await page.keyboard.type('acme');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Remove shop-10' }).waitFor();
    // Esc closes the list, and not the dialog.
    await page.keyboard.press('Escape');
    assert.equal(await dialog.getByRole('listbox').count(), 0);
    await page.keyboard.press('Backspace');
    await dialog.getByRole('button', { name: 'Remove acme' }).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Remove shop-10' }).waitFor();
  });

  it('what one cannot see in a text is shown as a mark', async () => {
    const { page, origin, axe } = get();
    const data = Buffer.from('pay \u202e10\u202c to\u200b bob').toString('base64');
    await ada.call('POST', '/records', { record: { key: 'odd.acme.v1', data, content_type: 'text/plain' } });
    await page.goto(`${origin}/records?namespace=acme`);
    await page.getByRole('rowheader', { name: 'odd.acme.v1' }).click();
    const panel = page.getByRole('dialog', { name: 'odd.acme.v1' });
    await panel.getByText('U+202E').waitFor();
    await panel.getByText('3 characters that one cannot see, shown as marks').waitFor();
    await axe('a text with hidden characters');
    await page.keyboard.press('Escape');
  });

  it('a session that ends under a form: the address is there, and the note says that nothing was saved', async () => {
    const { page, origin, context, nextCode, allow } = get();
    allow(/status of 401/);
    await open(page, origin, DIALOGS[2]!);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('kept.acme.v1');
    const cookies = await context.cookies();
    await context.clearCookies();
    await page.keyboard.press('Control+Enter');
    const again = page.getByRole('dialog', { name: 'Sign in' });
    const email = again.getByRole('textbox', { name: 'E-mail' });
    await email.and(page.locator(':focus')).waitFor();
    assert.equal(await email.inputValue(), 'ada@example.net');
    assert.ok(cookies.length > 0);
    const code = nextCode();
    await page.keyboard.press('Enter');
    await again.getByRole('textbox', { name: 'Code' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type(await code);
    await page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByText('You are signed in again. Nothing was saved yet').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('rowheader', { name: 'kept.acme.v1' }).waitFor();
  });
});
