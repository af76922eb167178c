/** The builder of keys in the form of a record. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';
import { account } from '../support/server-process.ts';

browserTest('key builder', (get) => {
  it('makes the key of its parts, by keyboard, and follows what is typed into the key', async () => {
    const { page, origin, server, signIn, axe } = get();
    const ada = account(server, 'ada@example.net');
    for (const name of ['acme', 'shop']) await ada.call('POST', '/namespaces', { namespace: { name } });
    await signIn();
    await page.goto(`${origin}/records`);
    await page.getByRole('button', { name: 'New record' }).click();
    const dialog = page.getByRole('dialog', { name: 'New record' });
    const key = dialog.getByRole('textbox', { name: 'Key' });
    await key.fill('berlin.weather.acme.v1');
    await dialog.locator('summary', { hasText: 'Build the key' }).press('Enter');
    const builder = dialog.getByRole('group', { name: 'Build the key' });
    assert.equal(await builder.getByRole('textbox', { name: 'param 1' }).inputValue(), 'berlin');
    assert.equal(await builder.getByRole('combobox', { name: 'namespace' }).inputValue(), 'acme');
    await builder.getByRole('combobox', { name: 'namespace' }).selectOption('shop');
    assert.equal(await key.inputValue(), 'berlin.weather.shop.v1');
    const param = builder.getByRole('textbox', { name: 'param 1' });
    await param.fill('東京');
    await builder.getByText('Does not fit into a label').waitFor();
    await builder.getByRole('combobox', { name: 'Encoding of param 1' }).selectOption('b32');
    assert.equal(await key.inputValue(), 'b32-42o3dzf2vq.weather.shop.v1');
    assert.equal(await param.inputValue(), '東京', 'the text stays beside the label that was made of it');
    assert.deepEqual(await builder.getByRole('option', { name: 'b64-' }).count(), 0, 'keys have no case');
    await axe('the builder of a key');
    await key.fill('flags.acme.v2');
    assert.equal(await builder.getByRole('textbox', { name: 'resource' }).inputValue(), 'flags');
    assert.equal(await builder.getByRole('textbox', { name: 'version' }).inputValue(), 'v2');
    await builder.getByRole('button', { name: 'Add a param' }).click();
    await dialog.getByRole('textbox', { name: 'Data' }).fill('on');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('rowheader', { name: 'a.flags.acme.v2' }).waitFor();
  });
});
