/** The reference of the API: an index, one operation a screen, and forms that send. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { browserTest, effectsRan } from '../support/browser/dashboard.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

/** Opens the reference at an operation, and its form. */
async function openForm(page: Page, origin: string, id: string) {
  await page.goto(`${origin}/api?operation=${id}`);
  await page.getByRole('button', { name: `Try it: ${id}`, exact: true }).click();
  return page.getByRole('form', { name: `Try it: ${id}`, exact: true });
}

browserTest(
  'api',
  (get) => {
    it('has an index of every operation, and one operation a screen', async () => {
      const { page, origin, signIn, axe, shot } = get();
      await signIn();
      const main = page.getByRole('navigation', { name: 'Main' });
      await main.getByRole('link', { name: 'API', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'API' }).waitFor();
      const document = await page.request.get(`${origin}/api/v1/openapi.json`);
      const { paths } = (await document.json()) as Document;
      const ids = Object.values(paths).flatMap((one) =>
        Object.values(one).map(({ operationId }) => operationId),
      );
      const index = page.getByRole('navigation', { name: en.api.contents, exact: true });
      await index.getByRole('link').first().waitFor();
      const shown = await index
        .getByRole('link')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href')?.split('=')[1]));
      assert.deepEqual([new Set(shown), shown.length], [new Set(ids), ids.length]);
      await axe('api');
      await index.getByRole('link', { name: 'Creates a webhook' }).click();
      await page.locator('h2:focus', { hasText: 'Creates a webhook' }).waitFor();
      await page.waitForURL(`${origin}/api?operation=createWebhook`);
      assert.equal(await page.getByRole('article').count(), 1);
      await page.getByRole('article').getByRole('tab', { name: 'python' }).click();
      await page.getByRole('article').getByRole('tabpanel').getByText('urllib.request').first().waitFor();
      await axe('api, an operation');
      // It comes some time after the sign-in.
      const later = page.getByRole('button', { name: 'Not now' });
      if (await later.isVisible()) await later.click();
      await page.evaluate('scrollTo(0, 0)');
      await shot('api');
    });

    it('finds operations by any words, and follows addresses of before', async () => {
      const { page, origin } = get();
      await page.goto(`${origin}/api`);
      const index = page.getByRole('navigation', { name: en.api.contents, exact: true });
      await index.getByRole('link').first().waitFor();
      await effectsRan(page);
      await page.keyboard.press('/');
      await page.keyboard.type('revoke token');
      await index
        .getByRole('status')
        .getByText(/^(?:one operation|\d operations)$/)
        .waitFor();
      await index.getByRole('link', { name: 'Revokes a query token' }).waitFor();
      assert.equal(await index.getByRole('link', { name: 'Creates a webhook' }).count(), 0);
      await page.keyboard.press('Enter');
      await page.locator('h2:focus', { hasText: 'Revokes a query token' }).waitFor();
      await page.goto('about:blank');
      await page.goto(`${origin}/api#createWebhook`);
      await page.waitForURL(`${origin}/api?operation=createWebhook`);
      await page.goto(`${origin}/api?operation=doMagic`);
      await page.getByText('There is no operation doMagic.').waitFor();
      await page.getByRole('link', { name: 'docs/API.md' }).first().click();
      await page.waitForURL(`${origin}/docs/api`);
    });

    it('lets a visitor read, and send what needs no session', async () => {
      const { origin, context } = get();
      const other = await context.browser()!.newContext({ viewport: { width: 390, height: 844 } });
      const page = await other.newPage();
      await page.goto(`${origin}/api?operation=createRecord`);
      await page.getByRole('button', { name: 'Try it: createRecord', exact: true }).click();
      const link = page.getByRole('link', { name: en.api.signIn });
      assert.equal(await link.getAttribute('href'), '/sign-in?next=%2Fapi%3Foperation%3DcreateRecord');
      assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0);
      // On a phone the list makes room for the operation.
      const index = page.getByRole('navigation', { name: en.api.contents, exact: true });
      assert.equal(await index.getByRole('link', { name: 'Lists records' }).count(), 0);
      await index.getByRole('link', { name: en.api.all }).click();
      // What it is and how to begin come before the list of everything.
      const seen = await page.getByRole('heading', { name: en.api.quick }).boundingBox();
      assert.ok(seen !== null && seen.y < 844);
      assert.equal(await index.getByRole('link', { name: 'Lists records' }).count(), 0);
      await page.locator('summary', { hasText: 'Records' }).first().click();
      await page.getByRole('link', { name: 'Lists records' }).click();
      await page.waitForURL(`${origin}/api?operation=listRecords`);
      const form = await openForm(page, origin, 'getMeta');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByText('"zones"').first().waitFor();
      await other.close();
    });

    it('sends a read at once, with the session, and shows it as code', async () => {
      const { page, origin, shot } = get();
      const form = await openForm(page, origin, 'getMe');
      await form.getByRole('button', { name: 'Send' }).click();
      const answer = form.getByRole('region', { name: 'Answer of getMe' });
      await answer.getByText('ada@example.net').waitFor();
      assert.match(await answer.getByRole('status').first().innerText(), /^200 after/);
      await shot('api-answer');
      await form.getByRole('button', { name: 'Copy as' }).click();
      const dialog = page.getByRole('dialog', { name: 'Copy as' });
      for (const [tab, text] of [
        ['curl', 'Authorization: Bearer $UQRP_TOKEN'],
        ['node', 'path: "/me"'],
        ['python', 'urllib.request'],
      ] as const) {
        await dialog.getByRole('tab', { name: tab }).click();
        assert.ok((await dialog.getByRole('tabpanel').innerText()).includes(text), tab);
      }
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });

    it('asks before a write, says the budget, and shows what was refused', async () => {
      const { page, origin, allow } = get();
      allow(/status of (?:422|404)/);
      const sent: string[] = [];
      page.on('request', (request) => {
        if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
      });
      const form = await openForm(page, origin, 'createNamespace');
      const body = form.getByRole('textbox', { name: 'Body' });
      const send = form.getByRole('button', { name: 'Send' });
      await body.fill('{"namespace": ');
      await send.click();
      await form.getByText(/JSON/).first().waitFor();
      assert.equal(await page.getByRole('dialog').count(), 0, 'what is no JSON is not even asked about');
      await body.fill('{"namespace": {"name": "tried"}}');
      await send.click();
      const dialog = page.getByRole('dialog', { name: 'POST /namespaces' });
      await dialog.getByText(/0 of 60 are used, of this hour 0 of 600/).waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      assert.deepEqual(sent, []);
      const confirm = async (): Promise<void> => {
        await send.click();
        // A double click sends once.
        await dialog.getByRole('button', { name: 'Send' }).dblclick();
        await dialog.waitFor({ state: 'detached' });
      };
      await confirm();
      const answer = form.getByRole('region', { name: 'Answer of createNamespace' });
      await answer.getByText('"tried"').first().waitFor();
      assert.match(await answer.getByRole('status').first().innerText(), /^201 after/);
      await confirm();
      await answer.getByRole('alert').getByText('has already been taken').waitFor();
      assert.deepEqual(sent, ['POST /api/v1/namespaces', 'POST /api/v1/namespaces']);
    });

    it('needs the parts of the path, and says what a status means', async () => {
      const { page, origin } = get();
      const form = await openForm(page, origin, 'getRecord');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByText('This is needed.').waitFor();
      await form.getByRole('textbox', { name: 'id' }).fill('"><img src=x onerror=alert(1)>');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByRole('alert').waitFor();
      await form.getByText(/^404: No such object/).waitFor();
      assert.equal(await page.locator('img').count(), 0);
    });

    it('shows a stream as it arrives, until it is stopped', async () => {
      const { page, origin } = get();
      const form = await openForm(page, origin, 'streamQueryLogs');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByRole('region').getByText('text/event-stream').first().waitFor();
      await form.getByRole('button', { name: 'Stop' }).click();
      await form.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    });

    it('works by keyboard, and says when the server cannot be reached', async () => {
      const { page, origin, context, allow } = get();
      allow(/ERR_INTERNET_DISCONNECTED/);
      await page.goto(`${origin}/api?operation=getUsage`);
      await page.getByRole('button', { name: 'Try it: getUsage' }).focus();
      await page.keyboard.press('Enter');
      const form = page.getByRole('form', { name: 'Try it: getUsage' });
      await form.waitFor();
      await page.keyboard.press('Tab');
      await context.setOffline(true);
      await page.keyboard.press('Enter');
      await form.getByRole('alert').getByText('The server cannot be reached.').waitFor();
      await context.setOffline(false);
      await page.keyboard.press('Enter');
      await form.getByRole('status').getByText('200').first().waitFor();
    });

    it('begins with a key, a write and a read that work as they stand', async () => {
      const { page, origin, server } = get();
      await page.goto(`${origin}/api`);
      const start = page.getByRole('region', { name: en.api.quick });
      const token = server.cli(['user', 'token', 'ada@example.net']).trim();
      const run = async (label: string): Promise<string> => {
        const code = await start.getByRole('figure', { name: label }).locator('code').innerText();
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        execFile('sh', ['-ec', code], { env: { ...process.env, UQRP_TOKEN: token } }, (error, out) =>
          error === null ? resolve(out) : reject(error),
        );
        return await promise;
      };
      assert.match(await run(en.api.quickWrite), /"key":\s?"greeting\.acme\.v1"/);
      assert.match(await run(en.api.quickRead), /"data":\s?"aGVsbG8="/);
      await start.getByRole('link', { name: 'API keys' }).waitFor();
    });
  },
  { UQRP_REST_RATE: 'on' },
);
