/** A server that is away or starts again in the middle of work: the page says so, comes back by itself, and sends nothing twice. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { browserTest, recordRow } from '../support/browser/dashboard.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

const AWAY = /The server cannot be reached\. What you see is from before/;

browserTest('a server that starts again', (get) => {
  let ada: Account;
  let again: Uqrp | null = null;

  after(async () => again?.stop());

  const stop = async (): Promise<void> => await (again ?? get().server).stop();

  const start = async (): Promise<void> => {
    const { ports, dataDir } = get().server;
    const env = {
      UQRP_HTTP_PORT: `${ports.http}`,
      UQRP_DNS_PORT: `${ports.dns}`,
      UQRP_DOT_PORT: `${ports.dot}`,
      UQRP_DOH_PORT: `${ports.doh}`,
    };
    again = await startUqrp(env, dataDir);
  };

  it('is missed where only a stream finds it away; a form that was sent stays, says what is known, and saves once it is back', async () => {
    const { server, page, origin, signIn, allow } = get();
    // 503: a server that has just started has no view yet.
    allow(/net::ERR_|status of 503/);
    ada = account(server, 'ada@example.net');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await ada.call('POST', '/records', { record: { key: 'old.acme.v1', data: 'YQ==' } });
    await signIn();
    await page.goto(`${origin}/namespaces/acme`);
    await recordRow(page, 'old.acme.v1').waitFor();
    await page.getByRole('button', { name: 'New record' }).click();
    const form = page.getByRole('dialog', { name: 'New record' });
    await form.getByRole('textbox', { name: 'Key' }).fill('kept.acme.v1');
    await form.getByRole('textbox', { name: 'Data' }).fill('hello');
    await stop();
    await page.getByText(AWAY).waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await start();
    await form.getByText('Whether this was saved is not known: do it again.').waitFor();
    await page.getByText(AWAY).waitFor({ state: 'detached' });
    await form.getByRole('button', { name: 'Save' }).click();
    await recordRow(page, 'kept.acme.v1').waitFor();
  });

  it('a change of others is shown after it, by the stream that was open before', async () => {
    const { page } = get();
    await ada.call('POST', '/records', { record: { key: 'other.acme.v1', data: 'Yg==' } });
    await page.getByText('1 new').waitFor();
  });

  it('a screen that was not loaded says that the server is away, and comes by itself', async () => {
    const { page } = get();
    await stop();
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await start();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
  });

  it('an import goes on by itself, and writes nothing twice', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/records/import?namespace=acme`);
    const lines = Array.from({ length: 1200 }, (_, n) => `{"key":"n${n}.many.acme.v1","data":"YQ=="}`);
    const file = { name: 'many.jsonl', mimeType: 'text/plain', buffer: Buffer.from(lines.join('\n')) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByText('1,200 new').waitFor();
    const keys: (string | undefined)[] = [];
    await page.route('**/api/v1/records/bulk', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length !== 2) return await route.continue();
      // It is stored, and its answer is lost with the server.
      await route.fetch();
      await stop();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Import 1,200 records' }).click();
    await page.getByText('It goes on when the connection is back.').waitFor();
    await start();
    await page.getByText('Done: 1,200 written.').waitFor();
    await page.unroute('**/api/v1/records/bulk');
    assert.equal(keys[1], keys[2]);
    assert.equal(new Set(keys).size, 3);
    const { body } = await ada.call('GET', '/namespaces');
    assert.equal((body as { records_count: number }[])[0]?.records_count, 1203);
  });

  it('a page that finds it away when it starts comes by itself', async () => {
    const { page, origin } = get();
    await page.route('**/api/v1/me', (route) => route.abort('connectionrefused'));
    await page.goto(`${origin}/api-keys`);
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await page.unroute('**/api/v1/me');
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
  });

  it('a newer server without a script of the page: it says so, and loads itself again', async () => {
    const { page, allow } = get();
    allow(/status of 404|MIME type/);
    const script = /\/assets\/webhooks-screen-/;
    await page.route(script, (route) => route.fulfill({ status: 404, body: '' }));
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    const note = page.getByRole('alert').filter({ hasText: 'The server has another version of this page' });
    await note.waitFor();
    await page.unroute(script);
    const loaded = page.waitForEvent('load');
    await note.getByRole('button', { name: 'Reload' }).click();
    await loaded;
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  });

  it('a sign-in spans it: the code that was mailed before is valid after', async () => {
    const { page, origin, forgetSession } = get();
    await forgetSession();
    await page.goto(`${origin}/sign-in`);
    await page.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.net');
    let printed = '';
    again?.child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await page.getByRole('button', { name: 'Send code' }).click();
    await page.getByRole('textbox', { name: 'Code' }).waitFor();
    while (!/\b\d{6}\b.*\n/.test(printed)) await page.waitForTimeout(10);
    await stop();
    await page.getByRole('textbox', { name: 'Code' }).fill(/\b\d{6}\b/.exec(printed)![0]);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await start();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
});
