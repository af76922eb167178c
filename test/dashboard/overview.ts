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
});
