/** The query log: waiting for a first query, live rows, filters, a pause, a session that ends, a server that starts again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import type { Locator } from 'playwright-core';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { read } from '../e2e/client.ts';
import { browserTest, effectsRan } from '../support/browser/dashboard.ts';
import { seedQueryLog } from '../support/control/query-log/seed-log.ts';
import { type Account, account, startUqrp } from '../support/server-process.ts';
import { until } from '../webhooks/hooks.ts';

const EMAIL = 'ada@example.net';
const NAME = 'get.greeting.acme.v1';
/** Milliseconds in which a live row should be seen. Printed where it takes longer: a busy machine is no fault of the page. */
const LIVE_MS = 2_000;

browserTest('query log', (get) => {
  let ada: Account;
  const table = (): Locator => get().page.getByRole('table', { name: 'Queries' });
  const rows = (): Locator => table().getByRole('rowheader');
  const live = (): Locator => get().page.getByRole('switch', { name: 'Live' });

  it('shows a command for an own record, and waits for the first query', async () => {
    const { page, origin, server, signIn, axe, shot } = get();
    ada = account(server, EMAIL, 'pro');
    await signIn();
    await page.goto(`${origin}/query-log`);
    await page.getByRole('link', { name: 'Make a record' }).waitFor();
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await ada.call('POST', '/records', { record: { key: 'greeting.acme.v1', data: 'aGk=' } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    await page.reload();
    await page.getByText(/^dig @.* TXT get\.greeting\.acme\.v1\.uqrp\.net \+short$/).waitFor();
    await page.getByText('Waiting for a query…').waitFor();
    await axe('an empty query log');
    await shot('query-log-empty');
    await read(server, NAME);
    await rows().first().waitFor();
    assert.equal(await rows().count(), 1);
    await page.getByText('Waiting for a query…').waitFor({ state: 'detached' });
  });

  it('shows a live row without a reload', async (test) => {
    const { page, server, axe, shot } = get();
    await live().click();
    await page.getByText('Live: new queries appear by themselves.').waitFor();
    await page.waitForURL((url) => url.searchParams.get('live') === 'on');
    const times: number[] = [];
    for (const wanted of [2, 3, 4]) {
      const before = performance.now();
      await read(server, NAME, wanted === 4 ? 'tcp' : 'udp');
      await rows()
        .nth(wanted - 1)
        .waitFor();
      times.push(performance.now() - before);
    }
    const best = Math.round(Math.min(...times));
    test.diagnostic(
      `${best > LIVE_MS ? 'OVER ' : ''}a live row is seen after ${best} ms, the limit is ${LIVE_MS}`,
    );
    await page.getByText(/ a second$/).waitFor();
    await read(server, 'get.nothing.acme.v1');
    await table().getByText('miss').waitFor();
    await axe('a live query log');
    await shot('query-log');
  });

  it('keeps its filters in the address, over a reload', async () => {
    const { page, origin } = get();
    await page.getByRole('button', { name: 'miss', exact: true }).click();
    await page.getByRole('combobox', { name: 'Namespace' }).selectOption('acme');
    await page.waitForURL(
      ({ searchParams: query }) => query.get('status') === 'miss' && query.get('namespace') === 'acme',
    );
    await page.reload();
    await rows().first().waitFor();
    assert.equal(await rows().count(), 1);
    assert.equal(
      await page.getByRole('button', { name: 'miss', exact: true }).getAttribute('aria-pressed'),
      'true',
    );
    await page.getByRole('combobox', { name: 'Transport' }).selectOption('dot');
    await page.getByText('No query matches these 3 filters.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows().nth(3).waitFor();
    await page.getByRole('combobox', { name: 'Transport' }).selectOption('tcp');
    await until('one row', async () => (await rows().count()) === 1);
    await page.goto(
      `${origin}/query-log?node=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&status=%3Cb%3E&live=on`,
    );
    await page.getByText('No query matches this filter.').waitFor();
    assert.equal(
      await page.getByRole('combobox', { name: 'Node' }).inputValue(),
      '<img src=x onerror=alert(1)>',
    );
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows().nth(3).waitFor();
  });

  it('is paused while one reads older rows', async () => {
    const { page, server, axe } = get();
    for (let n = 0; n < 40; n++) await read(server, NAME);
    // All of them: one that comes later would be counted with the new ones.
    await page.getByText(/^45 of \d+ queries of the last 24 hours/).waitFor();
    await table().evaluate((element) => {
      element.scrollTop = 400;
    });
    await effectsRan(page);
    for (let n = 0; n < 5; n++) await read(server, NAME);
    const paused = page.getByRole('button', { name: 'Paused, 5 new' });
    await paused.waitFor();
    assert.equal(await table().evaluate((element) => element.scrollTop), 400);
    await axe('a paused query log');
    await paused.click();
    await paused.waitFor({ state: 'detached' });
    assert.equal(await table().evaluate((element) => element.scrollTop), 0);
  });

  it('is exported as it is shown, and a dragged window stands in the address', async () => {
    const { page } = get();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const text = readFileSync(await (await download).path(), 'utf8');
    assert.match(text, /^id,timestamp,namespace,/);
    assert.ok(text.split('\r\n').length > 40);
    const chart = page.locator('.chart-area');
    const box = (await chart.boundingBox())!;
    await page.mouse.move(box.x + 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/since=.*until=|until=.*since=/);
    await page.getByRole('combobox', { name: 'Window' }).selectOption('');
    await page.waitForURL((url) => !url.searchParams.has('since') && !url.searchParams.has('until'));
  });

  it('opens a row: what it means, and others like it', async () => {
    const { page, axe } = get();
    // On a busy machine the newest one may have taken longer.
    const fast = table().getByRole('row').filter({ hasText: en.queryLog.belowMs }).filter({ hasText: 'hit' });
    await fast.first().getByRole('rowheader').click();
    const details = page.getByRole('dialog', { name: 'Query' });
    await details.getByText('Answered with records.').waitFor();
    await details.getByText('less than a millisecond', { exact: false }).waitFor();
    await axe('a row of the query log');
    await page.keyboard.press('Escape');
    await details.waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await details.getByRole('button', { name: 'Only hit' }).click();
    await page.waitForURL((url) => url.searchParams.get('status') === 'hit');
    await details.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'hit', exact: true }).click();
    await page.waitForURL((url) => !url.searchParams.has('status'));
  });

  it('has all queries of the day in its chart, and marks what was chosen in it', async () => {
    const { page, origin, server, axe } = get();
    await seedQueryLog(server.dataDir, 30);
    await page.goto(`${origin}/query-log?live=off`);
    const chart = page.getByRole('figure', { name: 'Queries over time' });
    await chart.locator('rect').first().waitFor();
    const places = await chart.locator('rect').evaluateAll((all) => all.map((bar) => bar.getAttribute('x')));
    // One in each hour at least, where the newest 100 rows are of one hour or two.
    assert.ok(new Set(places).size >= 24, `${new Set(places).size}`);
    const box = (await page.locator('.chart-area').boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/since=.*until=|until=.*since=/);
    const { searchParams } = new URL(page.url());
    const [since, end] = ['since', 'until'].map((name) => Date.parse(searchParams.get(name) ?? ''));
    const shown = table().locator('time').first();
    await until('rows of the chosen time', async () => {
      const at = Date.parse((await shown.getAttribute('datetime')) ?? '');
      return at >= since! && at < end!;
    });
    const mark = (await page.locator('.chart-range').boundingBox())!;
    assert.ok(Math.abs(mark.x - box.x - box.width * 0.25) < box.width / 72);
    await axe('a chosen time of the query log');
  });

  it('is read again by Refresh while it is not live, and is live again where it was', async () => {
    const { page, origin, server } = get();
    await page.goto(`${origin}/query-log?live=off`);
    await rows().first().waitFor();
    const newest = await rows().first().innerText();
    await read(server, NAME);
    await until('the row of a query', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click();
      return (await rows().first().innerText()) !== newest;
    });
    await page.goto(`${origin}/query-log`);
    await page.getByText('Live: new queries appear by themselves.').waitFor();
    assert.equal(await live().isChecked(), true);
    await live().click();
    await page.reload();
    await page.getByRole('button', { name: 'Refresh' }).waitFor();
    assert.equal(await live().isChecked(), false);
    await live().click();
    await page.getByText('Live: new queries appear by themselves.').waitFor();
  });

  it('ends with the session, and goes on after a sign-in over the page', async () => {
    const { page, server, nextCode, allow, axe } = get();
    allow(/status of 401/);
    await page.getByText('Live: new queries appear by themselves.').waitFor();
    server.cli(['user', 'sessions', EMAIL, '--end']);
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    await axe('a session that ended under the query log');
    await dialog.getByRole('textbox', { name: 'E-mail' }).fill(EMAIL);
    const code = nextCode();
    await dialog.getByRole('button', { name: 'Send code' }).click();
    await dialog.getByRole('textbox', { name: 'Code' }).fill(await code);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Live: new queries appear by themselves.').waitFor();
    await page.waitForURL((url) => url.searchParams.get('live') === 'on');
    await read(server, 'get.after-sign-in.acme.v1');
    await table().getByText('after-sign-in').waitFor();
  });

  it('goes on when the server has started again, with the rows of meanwhile', async () => {
    const { page, server, allow } = get();
    // 503: a server that has just started has no view yet.
    allow(/net::ERR_|status of 503/);
    const port = String(server.ports.http);
    await server.stop();
    await page.getByText('The connection was lost. It is tried again by itself.').waitFor();
    const again = await startUqrp({ UQRP_HTTP_PORT: port }, server.dataDir);
    try {
      await read(again, 'get.meanwhile.acme.v1');
      await table().getByText('meanwhile').waitFor();
      await page.getByText('Live: new queries appear by themselves.').waitFor();
      await read(again, 'get.afterwards.acme.v1');
      await table().getByText('afterwards').waitFor();
      await page.goto('about:blank');
    } finally {
      await again.stop();
    }
  });
});
