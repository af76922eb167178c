/** Encrypted records: a pasted key decrypts and encrypts them in the page. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Locator } from 'playwright-core';
import { decryptPayload, encryptPayload, newKeyLine, readKeyFile } from '../../sdk/src/encryption.ts';
import { eventually } from '../e2e/client.ts';
import { browserTest, recordRow } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

const KEY = 'db.env.acme.v1';
const SECRET = 'postgres://app:grüße@db';

browserTest('encrypted records', (get) => {
  let ada: Account;
  let line: string;

  const stored = async (key: string): Promise<Buffer> => {
    const { body } = await ada.call('GET', `/records?key=${key}`);
    return Buffer.from((body as { data: string }[])[0]?.data ?? '', 'base64');
  };
  const decrypted = async (key: string): Promise<string> => {
    const { data } = await decryptPayload(await readKeyFile(line), key, await stored(key));
    return Buffer.from(data).toString();
  };
  /** In a dialog. */
  const paste = async (dialog: Locator, text: string): Promise<void> => {
    await dialog.getByRole('textbox', { name: 'Keys' }).fill(text);
    await dialog.getByRole('button', { name: 'Use this key' }).click();
  };

  it('a value is encrypted in the page: the server gets the ciphertext alone', async () => {
    const { page, origin, server, signIn, axe } = get();
    line = await newKeyLine();
    ada = account(server, 'ada@example.net', 'pro');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await signIn();
    const sent: string[] = [];
    page.on('request', (request) => void sent.push(request.postData() ?? ''));
    await page.goto(`${origin}/records`);
    await page.getByRole('button', { name: 'New record' }).click();
    const dialog = page.getByRole('dialog', { name: 'New record' });
    await dialog.getByRole('textbox', { name: 'Key', exact: true }).fill(KEY);
    await dialog.getByRole('textbox', { name: 'Data' }).fill(SECRET);
    await dialog.getByText('Encryption', { exact: true }).click();
    await paste(dialog, 'uqrp-key-2 nonsense');
    await dialog.getByText('line 1 of the key file is not').waitFor();
    await paste(dialog, line);
    await dialog.getByRole('checkbox', { name: 'Encrypt the value when it is saved' }).check();
    await axe('a record that will be encrypted');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await recordRow(page, KEY).waitFor();
    assert.equal(await decrypted(KEY), SECRET);
    const plain = [SECRET, Buffer.from(SECRET).toString('base64'), line.split(' ')[2]!];
    for (const text of plain) assert.ok(!sent.some((body) => body.includes(text)));
  });

  it('its details show the decrypted value, and a form decrypts it, changes it, and encrypts it again', async () => {
    const { page, axe, shot } = get();
    const before = await stored(KEY);
    await recordRow(page, KEY).getByRole('rowheader').click();
    const panel = page.getByRole('dialog', { name: KEY });
    await panel.getByText(SECRET).waitFor();
    await axe('a decrypted record');
    await shot('record-encrypted');
    await panel.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: `Edit ${KEY}` });
    await dialog.getByText('Encryption', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Decrypt' }).click();
    const data = dialog.getByRole('textbox', { name: 'Data' });
    await eventually(async () => (await data.inputValue()) === SECRET);
    assert.equal(
      await dialog.getByRole('checkbox', { name: 'Encrypt the value when it is saved' }).isChecked(),
      true,
    );
    await data.fill('changed');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => !(await stored(KEY)).equals(before));
    assert.equal(await decrypted(KEY), 'changed');
    assert.ok((await stored(KEY)).readUIntBE(9, 6) > before.readUIntBE(9, 6));
  });

  it('another key says which one is missing, and a reload forgets the key', async () => {
    const { page, origin } = get();
    const other = await newKeyLine();
    const [foreign] = await readKeyFile(other);
    const data = Buffer.from(await encryptPayload(foreign, 'mail.env.acme.v1', Buffer.from('x'))).toString(
      'base64',
    );
    const records = [{ key: 'mail.env.acme.v1', data, content_type: 'application/octet-stream' }];
    await ada.call('POST', '/records/bulk', { records });
    await page.goto(`${origin}/records`);
    await recordRow(page, 'mail.env.acme.v1').getByRole('rowheader').click();
    const panel = page.getByRole('dialog', { name: 'mail.env.acme.v1' });
    await panel.getByText('Paste its key file to read it.').waitFor();
    await paste(panel, line);
    await panel.getByText(`encrypted with key ${foreign.id}, which the key file does not have`).waitFor();
    await panel.getByRole('button', { name: 'Forget the key' }).click();
    await paste(panel, `${line}\n${other}`);
    await panel.getByText('The page shows it decrypted').waitFor();
    const kept = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
    );
    assert.ok(!kept.includes(line.split(' ')[2]!));
  });

  it('a sign-out forgets the key, also for the same user on the same page', async () => {
    const { page, nextCode } = get();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('>sign out');
    await page.getByRole('option', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.net');
    const code = nextCode();
    await page.getByRole('button', { name: 'Send code' }).click();
    await page.getByRole('textbox', { name: 'Code' }).fill(await code);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('link', { name: 'Records', exact: true }).first().click();
    await recordRow(page, KEY).getByRole('rowheader').click();
    await page.getByRole('dialog', { name: KEY }).getByText('Paste its key file to read it.').waitFor();
  });
});
