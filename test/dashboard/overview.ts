/** The overview of an account with something in it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Locator, Page, Response } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { seedQueryLog } from '../support/control/query-log/seed-log.ts';
import { type Account, account, writeRecords } from '../support/server-process.ts';
import { until } from '../webhooks/hooks.ts';

browserTest('overview', (get) => {
  let ada: Account;

  it('shows what needs attention and the answers of the day, and ticks the steps that are done elsewhere', async () => {
    const { page, server, signIn, axe } = get();
    ada = account(server, 'ada@example.net');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await signIn();
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByRole('listitem').filter({ hasText: 'Make a namespace' }).getByText('(done)').waitFor();
    await writeRecords(ada, [{ key: 'greeting.acme.v1', data: 'b2s=' }]);
    // Written by a program while the page is open.
    await steps.getByRole('listitem').filter({ hasText: 'Write a record' }).getByText('(done)').waitFor();
    await page.getByText('Less than half of each limit is used.').waitFor();
    // Before the first query: a page that is loaded after it was counted has no first steps.
    await steps.getByRole('button', { name: 'Hide' }).click();
    await steps.waitFor({ state: 'detached' });
    const expires = new Date(Date.now() + 3 * 86_400_000).toISOString();
    await ada.call('POST', '/api_keys', { api_key: { name: 'deploy', expires_at: expires } });
    // Refused, because there is no token in the name: the query log has it all the same.
    const port = String(server.ports.dns);
    const ask = ['query', 'get.greeting.acme.v1.uqrp.net', '--server', '127.0.0.1', '--port', port];
    assert.throws(() => server.cli(ask), /Command failed/);
    await page.reload();
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: 'deploy' }).waitFor();
    const traffic = page.getByRole('region', { name: 'Answers of the last 24 hours' });
    await traffic.locator('rect').first().waitFor();
    await axe('overview');
  });

  it('of an account that was asked nothing says what it counts', async () => {
    const { page, server, context, signIn, axe } = get();
    const bob = account(server, 'bob@example.net');
    await bob.call('POST', '/namespaces', { namespace: { name: 'quiet' } });
    await writeRecords(bob, [{ key: 'greeting.quiet.v1', data: 'b2s=' }]);
    const other = await context.browser()!.newContext({ locale: 'en-GB' });
    const theirs = await other.newPage();
    await signIn(theirs, 'bob@example.net');
    await theirs.getByText('No query in this time.', { exact: false }).waitFor();
    await theirs.getByText('goes over HTTPS and is not logged', { exact: false }).waitFor();
    assert.equal(await theirs.locator('.figure strong').first().innerText(), '0');
    await axe('an overview of nothing', theirs);
    await other.close();
    await page.bringToFront();
  });

  it('shows a day, a week and 30 days from few requests, however many answers there were', async (test) => {
    const { page, origin, server, axe, shot } = get();
    for (let n = 0; n < 39; n++) await ada.call('POST', '/namespaces', { namespace: { name: `space-${n}` } });
    await seedQueryLog(server.dataDir, 20 * 24);
    // What the page before still asks for is not counted, nor is its body to be had once it is left.
    await page.goto('about:blank');
    const asked: string[] = [];
    const bodies: Promise<Buffer>[] = [];
    const note = (response: Response): void => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/api/v1/')) return;
      asked.push(pathname.slice('/api/v1'.length));
      bodies.push(response.body());
    };
    page.on('response', note);
    await page.goto(`${origin}/`);
    const day = page.getByRole('region', { name: 'Answers of the last 24 hours' });
    await day.locator('rect').first().waitFor();
    await page.getByRole('region', { name: 'Needs attention' }).getByRole('link').first().waitFor();
    const { lcp, cls } = await paints(page);
    page.off('response', note);
    const octets = (await Promise.all(bodies)).reduce((sum, { length }) => sum + length, 0);
    test.diagnostic(
      `overview, 40 namespaces: ${asked.length} requests, ${octets} octets, LCP ${Math.round(lcp)} ms, CLS ${cls.toFixed(3)}`,
    );
    assert.ok(asked.length <= 6, asked.join(' '));
    assert.equal(asked.filter((path) => path === '/overview').length, 1);
    assert.ok(cls < 0.1, String(cls));
    // A bar in each hour: not the newest answers alone. The newest has none where an hour began since they were written.
    const hours = async (region: Locator): Promise<number> =>
      new Set(await region.locator('rect').evaluateAll((all) => all.map((bar) => bar.getAttribute('x'))))
        .size;
    assert.ok([23, 24].includes(await hours(day)), String(await hours(day)));
    await page
      .getByText(/the 24 hours before$/)
      .first()
      .waitFor();
    const top = page.getByRole('region', { name: 'Resources asked most' });
    assert.equal(await top.getByRole('listitem').count(), 5);
    await axe('an overview with answers');
    await shot('overview');
    await page.getByRole('button', { name: '7 d' }).click();
    const week = page.getByRole('region', { name: 'Answers of the last 7 days' });
    await until('28 steps of six hours', async () => [27, 28].includes(await hours(week)));
    await page.getByRole('button', { name: '30 d' }).click();
    await page.getByRole('region', { name: 'Answers of the last 30 days' }).locator('rect').first().waitFor();
    await page.reload();
    await page.getByRole('region', { name: 'Answers of the last 30 days' }).waitFor();
    await page.waitForURL((url) => url.searchParams.get('window') === '30d');
    await axe('an overview of 30 days');
    await top.getByRole('link', { name: 'flags' }).click();
    await page.getByRole('heading', { level: 1, name: 'Records' }).waitFor();
    await page.waitForURL((url) => url.searchParams.get('resource') === 'flags');
  });
});

/** Largest contentful paint, milliseconds, and the sum of layout shifts. */
const PAINTS = `new Promise((done) => {
  let [lcp, cls] = [0, 0];
  const watch = (type, act) =>
    new PerformanceObserver((list) => list.getEntries().forEach(act)).observe({ type, buffered: true });
  watch('largest-contentful-paint', ({ startTime }) => (lcp = startTime));
  watch('layout-shift', ({ value }) => (cls += value));
  setTimeout(() => done({ lcp, cls }), 500);
})`;

function paints(page: Page): Promise<{ lcp: number; cls: number }> {
  return page.evaluate(PAINTS);
}
