/**
 * Webhooks: made, tested, delivered, disabled by failing, enabled, rotated. No setting lets a webhook reach a private address, so
 * this runs in a network namespace of its own, as test/webhooks does. Needs root, or user namespaces.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import type { Locator } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { enterOwnNetwork } from '../support/own-network.ts';
import { type Account, account } from '../support/server-process.ts';
import { createHook, type Delivery, deliveriesOf, type Hook, until, verified } from '../webhooks/hooks.ts';
import { ADDRESSES, openWorld } from '../webhooks/world.ts';

enterOwnNetwork(ADDRESSES);
const world = await openWorld(2);
/** Ten attempts, all but the first so late that only the button `Redeliver` makes them. */
const SCHEDULE = `0${',3600'.repeat(9)}`;
const CANARY = '<img src=x onerror=alert(1)>';

browserTest(
  'webhooks',
  (get) => {
    let ada: Account;
    let failing: Hook;
    const secretDialog = (): Locator => get().page.getByRole('dialog', { name: 'Signing secret' });

    after(() => world.close());

    it('are none at first', async () => {
      const { page, origin, server, signIn, axe, shot } = get();
      ada = account(server, 'ada@example.net', 'pro');
      await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      await signIn();
      await page.goto(`${origin}/webhooks`);
      await page.getByRole('heading', { name: 'No webhooks' }).waitFor();
      await axe('no webhooks');
      await shot('webhooks-empty');
    });

    it('are made with all events ticked, and show their secret once', async () => {
      const { page, axe, shot, allow } = get();
      allow(/status of 422/);
      await page.getByRole('button', { name: 'New webhook' }).click();
      const form = page.getByRole('dialog', { name: 'New webhook' });
      await form.getByRole('checkbox', { name: 'namespace.deleted' }).waitFor();
      for (const event of ['record.upserted', 'record.deleted', 'namespace.upserted', 'namespace.deleted'])
        assert.equal(await form.getByRole('checkbox', { name: event }).isChecked(), true, event);
      await form.getByRole('textbox', { name: 'Name' }).fill(CANARY);
      await form.getByRole('textbox', { name: 'URL' }).fill('https://127.0.0.1/hook');
      await form.getByRole('button', { name: 'Create' }).click();
      await form.getByRole('alert').waitFor();
      await axe('a refused webhook');
      await form.getByRole('textbox', { name: 'URL' }).fill(world.url('ok', 0));
      await axe('the form of a webhook');
      await form.getByRole('button', { name: 'Create' }).dblclick();
      await secretDialog().waitFor();
      const secret = (await secretDialog().locator('output').innerText()).trim();
      assert.match(secret, /^[0-9a-f]{64}$/);
      await page.keyboard.press('Escape');
      assert.equal(await secretDialog().isVisible(), true);
      await axe('a signing secret');
      await secretDialog().getByRole('button', { name: 'I have stored it' }).click();
      await page.getByRole('rowheader', { name: CANARY }).waitFor();
      assert.equal(await page.getByRole('rowheader').count(), 1);
      assert.doesNotMatch(await page.content(), new RegExp(secret));
      await ada.call('POST', '/records', { record: { key: 'a.acme.v1', data: 'aGk=' } });
      await page.getByRole('img', { name: '1 of the last 1 attempts succeeded' }).waitFor();
      const [arrival] = await world.take();
      assert.equal(verified(arrival!, secret).event, 'record.upserted');
      await axe('webhooks');
      await shot('webhooks');
    });

    it('are tested, and the answer is shown at once', async () => {
      const { page, axe } = get();
      await page.getByRole('link', { name: CANARY }).click();
      await page.getByRole('heading', { level: 1, name: CANARY }).waitFor();
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText(/^The endpoint answered 204 after /).waitFor();
      await page.getByRole('table', { name: 'Deliveries' }).getByText('webhook.test').waitFor();
      await page.getByRole('table', { name: 'Deliveries' }).getByText('webhook.test').click();
      const panel = page.getByRole('dialog', { name: 'Delivery' });
      await panel.getByText(/erased, so it cannot be sent again/).waitFor();
      assert.equal(await panel.getByRole('button', { name: 'Redeliver' }).isDisabled(), true);
      await page.keyboard.press('Escape');
      await panel.waitFor({ state: 'detached' });
      await axe('a webhook');
    });

    it('show events, a receiver and the secret, which is rotated', async () => {
      const { page, axe, shot } = get();
      await page.getByRole('tab', { name: 'Events' }).click();
      await page.getByRole('rowheader', { name: 'data.key', exact: true }).waitFor();
      await axe('events of a webhook');
      await page.getByRole('tab', { name: 'Receiver' }).click();
      for (const [name, words] of [
        ['Express', "import express from 'express'"],
        ['Fastify', "import Fastify from 'fastify'"],
        ['Hono', "import { Hono } from 'hono'"],
        ['Python', 'import hmac'],
        ['Go', 'package main'],
      ] as const) {
        await page.getByRole('button', { name, exact: true }).click();
        await page.getByRole('figure', { name, exact: true }).getByText(words).waitFor();
      }
      await axe('a receiver');
      await shot('webhook-receiver');
      await page.getByRole('tab', { name: 'Secret' }).click();
      await page.getByRole('button', { name: 'Rotate' }).click();
      const dialog = page.getByRole('dialog', { name: 'Rotate the secret?' });
      await dialog.getByText(/Old signatures stop at once/).waitFor();
      await axe('a rotation');
      await dialog.getByRole('button', { name: 'Rotate' }).click();
      await secretDialog().waitFor();
      const secret = (await secretDialog().locator('output').innerText()).trim();
      await secretDialog().getByRole('button', { name: 'I have stored it' }).click();
      await world.take();
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText(/^The endpoint answered 204 after /).waitFor();
      const [arrival] = await world.take();
      assert.equal(verified(arrival!, secret).event, 'webhook.test');
    });

    it('show why a delivery failed, what to do, and when it is tried again', async () => {
      const { page, origin, axe, shot } = get();
      failing = await createHook(ada, world.url('fail', 0), ['record.upserted']);
      for (const key of ['b.acme.v1', 'c.acme.v1'])
        await ada.call('POST', '/records', { record: { key, data: 'aGk=' } });
      await page.goto(`${origin}/webhooks/${failing.id}`);
      const table = page.getByRole('table', { name: 'Deliveries' });
      await table.getByText('The endpoint answered 500. Only 2xx is success.').first().waitFor();
      await table
        .getByText(/^in \d+:\d\d/)
        .first()
        .waitFor();
      const banner = page.getByRole('region', { name: 'What this webhook needs' });
      await banner.getByRole('heading', { name: /^Failing since / }).waitFor();
      await banner.getByText('The endpoint answered 500. Only 2xx is success.').waitFor();
      await banner
        .getByText(/^[12] of 20 attempts in a row have failed; after 20 it is disabled\./)
        .waitFor();
      assert.equal(await page.getByRole('button', { name: 'Send a test' }).count(), 1);
      await axe('failing deliveries');
      await shot('webhook-deliveries');
      await table.getByText('record.upserted').first().click();
      const details = page.getByRole('dialog', { name: 'Delivery' });
      await details.getByText(/Look into the log of the endpoint/).waitFor();
      const attempts = details.getByRole('list', { name: 'Attempts' }).getByRole('listitem');
      assert.equal(await attempts.count(), 10, 'as the schedule of this server is');
      assert.match((await attempts.nth(0).textContent()) ?? '', /at once.+: 500, after/);
      assert.match((await attempts.nth(1).textContent()) ?? '', /after 1 h.*next attempt in/);
      await axe('a delivery');
      await page.keyboard.press('Escape');
      await details.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'pending', exact: true }).click();
      await page.waitForURL((url) => url.searchParams.get('status') === 'pending');
      await page.getByRole('button', { name: 'pending', exact: true }).click();
    });

    it('are disabled by failing, and enabled in the page', async () => {
      const { page, axe, shot } = get();
      const attempts = async (): Promise<number> =>
        (await deliveriesOf(ada, failing)).reduce((sum, one) => sum + one.attempts, 0);
      await until('a first attempt', async () => (await attempts()) >= 1);
      const before = await attempts();
      await page.getByRole('table', { name: 'Deliveries' }).getByText('pending').first().click();
      const panel = page.getByRole('dialog', { name: 'Delivery' });
      await panel.getByRole('button', { name: 'Redeliver' }).click();
      await until('the attempt of the page', async () => (await attempts()) > before);
      await page.keyboard.press('Escape');
      await panel.waitFor({ state: 'detached' });
      // The rest of the twenty attempts, as fast as they end.
      await until('it is disabled', async () => {
        const waiting = (await deliveriesOf(ada, failing, '?status=pending')) as readonly Delivery[];
        for (const { id } of waiting)
          await ada.call('POST', `/webhooks/${failing.id}/deliveries/${id}/redeliver`);
        const { body } = await ada.call('GET', `/webhooks/${failing.id}`);
        return !(body as { enabled: boolean }).enabled;
      });
      const enable = page.getByRole('button', { name: 'Enable' });
      await enable.waitFor();
      await page.getByText('20 of 20').waitFor();
      await page
        .getByRole('heading', { name: /^Disabled at .+ after 20 failed attempts in a row$/ })
        .waitFor();
      await page.getByText(/^It had been failing since /).waitFor();
      await page.getByText(/^Nothing is sent, and nothing is kept for it/).waitFor();
      const file = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export what changed' }).click();
      const lines = readFileSync(await (await file).path(), 'utf8')
        .trim()
        .split('\n');
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { key: string }).key),
        ['c.acme.v1', 'b.acme.v1', 'a.acme.v1'],
      );
      await axe('a disabled webhook');
      await shot('webhook-disabled');
      await enable.dblclick();
      await enable.waitFor({ state: 'detached' });
      await page.getByText('0 of 20').waitFor();
      // Nothing has succeeded yet: it says so, and does not call itself healthy.
      await page.getByRole('heading', { name: 'Waiting for the first success' }).waitFor();
      await page.getByText('not proven yet').waitFor();
      const { body } = await ada.call('GET', `/webhooks/${failing.id}`);
      assert.equal((body as { enabled: boolean }).enabled, true);
    });

    it('are changed, proven by a success, found and deleted', async () => {
      const { page, origin, axe } = get();
      await page.getByRole('button', { name: 'Edit URL' }).click();
      const form = page.getByRole('dialog', { name: 'Edit' });
      assert.equal(await form.getByRole('checkbox', { name: 'record.deleted' }).isChecked(), false);
      await form.getByRole('checkbox', { name: 'record.deleted' }).check();
      const url = form.getByRole('textbox', { name: 'URL' });
      await url.focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.type(world.url('ok', 1));
      await page.keyboard.press('Enter');
      await form.waitFor({ state: 'detached' });
      await page.getByText('record.upserted, record.deleted').waitFor();
      await page.getByText(world.url('ok', 1)).waitFor();
      await ada.call('POST', '/records', { record: { key: 'd.acme.v1', data: 'aGk=' } });
      await page.getByText('healthy').waitFor();
      await page.getByRole('region', { name: 'What this webhook needs' }).waitFor({ state: 'detached' });
      await page.goto(`${origin}/webhooks`);
      await page.getByRole('searchbox', { name: 'Search' }).focus();
      await page.keyboard.type('IMG src');
      await page.getByRole('rowheader', { name: 'hook', exact: true }).waitFor({ state: 'detached' });
      await page.keyboard.press('Control+A');
      await page.keyboard.press('Backspace');
      await page.getByRole('link', { name: 'hook', exact: true }).click();
      await page.getByRole('button', { name: 'Delete' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete hook?' });
      await axe('a webhook is deleted');
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
      await page.getByRole('rowheader', { name: 'hook', exact: true }).waitFor({ state: 'detached' });
    });

    it('keep what somebody else has changed while their form was open', async () => {
      const { page, origin } = get();
      const made = await createHook(ada, world.url('ok', 0), ['record.upserted', 'record.deleted']);
      const path = `/webhooks/${made.id}`;
      await page.goto(`${origin}${path}`);
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      const form = page.getByRole('dialog', { name: 'Edit' });
      await form.getByRole('textbox', { name: 'Name' }).fill('hook of Ada');
      await form.getByRole('checkbox', { name: 'namespace.deleted' }).check();
      await form.getByRole('checkbox', { name: 'namespace.deleted' }).uncheck();
      const webhook = {
        url: world.url('ok', 1),
        events: ['record.upserted'],
        scopes: { namespaces: ['acme'] },
      };
      await ada.call('PATCH', path, { webhook });
      await form.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { level: 1, name: 'hook of Ada' }).waitFor();
      const now = (await ada.call('GET', path)).body as Record<string, unknown>;
      assert.deepEqual({ ...now, name: 'hook of Ada', ...webhook }, now);
      await ada.call('DELETE', path);
    });

    it('a restored draft writes no old list over what somebody else has changed, before both are seen', async () => {
      const { page, origin } = get();
      const made = await createHook(ada, world.url('ok', 0), ['record.upserted']);
      const path = `/webhooks/${made.id}`;
      await page.goto(`${origin}${path}`);
      const form = page.getByRole('dialog', { name: 'Edit' });
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await form.getByRole('checkbox', { name: 'namespace.deleted' }).check();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Discard' }).click();
      await form.waitFor({ state: 'detached' });
      const events = ['record.upserted', 'record.deleted'];
      await ada.call('PATCH', path, { webhook: { events } });
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await form.getByRole('button', { name: 'Restore' }).click();
      await form.getByRole('button', { name: 'Save' }).click();
      await form.getByRole('alert').getByText('Events: record.upserted, record.deleted.').waitFor();
      const stored = async () => ((await ada.call('GET', path)).body as { events: string[] }).events;
      assert.deepEqual(await stored(), events);
      await form.getByRole('checkbox', { name: 'record.deleted' }).check();
      await form.getByRole('button', { name: 'Save' }).click();
      await form.waitFor({ state: 'detached' });
      assert.deepEqual((await stored()).toSorted(), [...events, 'namespace.deleted'].toSorted());
      await ada.call('DELETE', path);
    });

    it('that do not exist are said not to', async () => {
      const { page, origin, axe, allow } = get();
      allow(/status of 404/);
      await page.goto(`${origin}/webhooks/01996c8b-3a40-7d15-b6f2-8e4a1c0d9b37`);
      await page.getByRole('alert').waitFor();
      await axe('no such webhook');
    });
  },
  { ...world.env, UQRP_WEBHOOK_SCHEDULE: SCHEDULE },
);
