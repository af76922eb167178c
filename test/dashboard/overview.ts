/** The overview of an account with something in it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';
import { account, writeRecords } from '../support/server-process.ts';

browserTest('overview', (get) => {
  it('shows gauges, what needs attention and the answers of the day, and ticks the steps that are done elsewhere', async () => {
    const { page, server, signIn, axe, shot } = get();
    const ada = account(server, 'ada@example.net');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    await signIn();
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByRole('listitem').filter({ hasText: 'Make a namespace' }).getByText('(done)').waitFor();
    await writeRecords(ada, [{ key: 'greeting.acme.v1', data: 'b2s=' }]);
    // Written by a program while the page is open.
    await steps.getByRole('listitem').filter({ hasText: 'Write a record' }).getByText('(done)').waitFor();
    await page.getByRole('meter', { name: 'Records' }).waitFor();
    const expires = new Date(Date.now() + 3 * 86_400_000).toISOString();
    await ada.call('POST', '/api_keys', { api_key: { name: 'deploy', expires_at: expires } });
    // Refused, because there is no token in the name: the query log has it all the same.
    const port = String(server.ports.dns);
    const ask = ['query', 'get.greeting.acme.v1.uqrp.net', '--server', '127.0.0.1', '--port', port];
    assert.throws(() => server.cli(ask), /Command failed/);
    await page.reload();
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: 'deploy' }).waitFor();
    await steps.getByRole('button', { name: 'Hide' }).click();
    await steps.waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'Answers of the last 24 hours' }).waitFor();
    await axe('overview');
    await shot('overview');
  });

  it('says which answers the chart has when there are more than it reads', async () => {
    const { page, axe } = get();
    const AT = Date.now();
    const row = (n: number) => ({
      ...{ namespace: 'acme', resource: 'greeting', version: 'v1', operation: 'get', qtype: 'TXT' },
      ...{ status: n % 2 === 0 ? 'hit' : 'refused', rcode: 'NOERROR', transport: 'udp', node: 'fra1' },
      ...{ id: String(9_000_000 - n), duration_ms: 0, timestamp: new Date(AT - n * 1_000).toISOString() },
    });
    let pages = 0;
    await page.route('**/api/v1/query_logs**', async (route) => {
      const rows = Array.from({ length: 100 }, (_, n) => row(pages * 100 + n));
      pages += 1;
      const counts = { total: 52_310, dropped: 7, total_window_hours: 24, limit: 100 };
      const meta = { ...counts, next_cursor: `page${pages}`, has_more: true };
      await route.fulfill({ json: { query_logs: rows, meta } });
    });
    await page.reload();
    const traffic = page.getByRole('region', { name: 'Answers of the last 24 hours' });
    const text = traffic.getByText('52,310 answers over UDP, TCP and DoT in 24 hours.').last();
    await text.waitFor();
    assert.match(
      (await text.textContent()) ?? '',
      /The chart has the newest 1,000, those since .+\. Nodes were overloaded and kept no rows of 7 queries\./,
    );
    assert.equal(pages, 10);
    // 1,000 seconds in steps of half a minute: no hour stands there as if nothing had been asked in it.
    const bars = new Set(
      await traffic.locator('rect').evaluateAll((all) => all.map((bar) => bar.getAttribute('x'))),
    );
    assert.ok(bars.size >= 33 && bars.size <= 36, `${bars.size} bars`);
    await axe('a chart of the newest answers');
    await page.unroute('**/api/v1/query_logs**');
  });
});
