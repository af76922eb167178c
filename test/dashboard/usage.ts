/** Usage: limits, write budgets with their reset, private reads by namespace, deliveries of the last hour. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Usage } from '../../sdk/src/uqrp-sdk.ts';
import { read } from '../e2e/client.ts';
import { browserTest } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';
import { until } from '../webhooks/hooks.ts';

const CANARY = '<img src=x onerror=alert(1)>';

browserTest(
  'usage',
  (get) => {
    let ada: Account;

    it('of an empty account says so', async () => {
      const { page, origin, server, signIn, axe, shot } = get();
      ada = account(server, 'ada@example.net', 'pro');
      await signIn();
      await page.goto(`${origin}/usage`);
      await page.getByText('No private read yet.').waitFor();
      await page.getByRole('meter', { name: 'Records' }).waitFor();
      assert.equal(
        await page.getByRole('meter', { name: 'Private reads this month' }).getAttribute('aria-valuetext'),
        '0 of 5,000,000',
      );
      const own = page.getByRole('row').filter({ hasText: 'yours' });
      assert.match(await own.innerText(), /^pro/);
      await axe('usage of nothing');
      await shot('usage-empty');
    });

    it('counts writes against their budgets, and tells of bulk writes before they run out', async () => {
      const { page, axe } = get();
      const made = await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      assert.equal(made.status, 201);
      await ada.call('POST', '/records', { record: { key: 'a.acme.v1', data: 'aGk=' } });
      const writes = page.getByRole('meter', { name: 'Writes this minute' });
      await until('two writes', async () => Number(await writes.getAttribute('aria-valuenow')) >= 2);
      assert.equal(await writes.getAttribute('aria-valuemax'), '60');
      await page
        .getByText(/^resets in \d+ s$/)
        .first()
        .waitFor();
      await page
        .getByText(/^resets in \d+ min$/)
        .first()
        .waitFor();
      const url = 'https://example.com/hook';
      const webhook = { name: CANARY, url, events: ['record.upserted'] };
      assert.equal((await ada.call('POST', '/webhooks', { webhook })).status, 201);
      // The minute may end before the page has read it, and the next one begins with nothing used.
      await until('a minute that is nearly used', async () => {
        for (let n = 0; n < 48; n++)
          await ada.call('PATCH', '/records/00000000-0000-7000-8000-000000000000', {});
        await page.reload();
        await writes.waitFor();
        return await page.getByText(/The write budget is nearly used/).isVisible();
      });
      await page.getByRole('meter', { name: CANARY }).waitFor();
      await axe('a write budget that is nearly used');
    });

    it('counts private reads by namespace', async () => {
      const { page, server, axe, shot } = get();
      const list = (await ada.call('GET', '/namespaces')).body as { id: string }[];
      const path = `/namespaces/${list[0]?.id}/query_tokens`;
      let token = '';
      // The writes of the minute may be used up.
      await until('a token', async () => {
        const made = await ada.call('POST', path, { name: 'reader' });
        if (made.status === 201) ({ token } = made.body as { token: string });
        return made.status === 201;
      });
      let answer = await read(server, `get.auth-${token}.a.acme.v1`);
      while (answer.payload === null) answer = await read(server, `get.auth-${token}.a.acme.v1`);
      await read(server, `get.auth-${token}.a.acme.v1`);
      // The node reports its reads at intervals, and the page asks at intervals of its own.
      await until('reads that are counted', async () => {
        const { body } = await ada.call('GET', '/usage');
        return (body as Usage).metered.by_namespace.length > 0;
      });
      await page.getByRole('link', { name: 'acme' }).waitFor();
      await page.getByText(/estimated, never bills/).waitFor();
      const days = page.getByRole('region', { name: 'Private reads by day' });
      await days.locator('rect').first().waitFor();
      assert.equal(await days.locator('rect').count(), 1);
      await days
        .getByText(/a day use the whole allowance of the month/)
        .last()
        .waitFor();
      await axe('usage');
      await shot('usage');
      await page.getByRole('link', { name: 'acme' }).click();
      await page.getByRole('heading', { level: 1, name: 'Query log' }).waitFor();
      await page.waitForURL((url) => url.searchParams.get('namespace') === 'acme');
    });

    it('says that it is from before while the server cannot be reached', async () => {
      const { page, context, origin, axe, allow } = get();
      allow(/ERR_INTERNET_DISCONNECTED/);
      await page.goto(`${origin}/usage`);
      await page.getByRole('link', { name: 'acme' }).waitFor();
      await context.setOffline(true);
      await page
        .getByText(/The server cannot be reached/)
        .first()
        .waitFor();
      await page.getByRole('link', { name: 'acme' }).waitFor();
      await axe('usage, offline');
      await context.setOffline(false);
      await page.getByText(/What you see is from before/).waitFor({ state: 'detached' });
    });
  },
  { UQRP_REST_RATE: 'on' },
);
