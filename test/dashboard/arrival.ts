/** Where is my write: what the page says when several DNS nodes serve the zone. Their states are recorded; the record and its answer are real. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';
import { account } from '../support/server-process.ts';

interface NodeState {
  readonly name: string;
  readonly applied: boolean;
  readonly ms: number | null;
  readonly late: boolean;
}

const HERE: NodeState = { name: 'here', applied: true, ms: 7, late: false };
const LON1: NodeState = { name: 'lon1', applied: false, ms: null, late: false };
const OLD1: NodeState = { name: 'old1', applied: false, ms: null, late: true };

browserTest('arrival', (get) => {
  it('says of each node when it had the write, which ones are awaited, and which are late', async () => {
    const { page, origin, server, signIn, axe } = get();
    const ada = account(server, 'ada@example.net');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    let nodes: readonly NodeState[] = [HERE, LON1, OLD1];
    const seqs = new Set<string | null>();
    await page.route('**/api/v1/propagation?**', async (route) => {
      seqs.add(new URL(route.request().url()).searchParams.get('seq'));
      const applied = nodes.every((node) => node.applied || node.late);
      await route.fulfill({ json: { applied, nodes } });
    });
    await signIn();
    await page.goto(`${origin}/records`);
    await page.getByRole('button', { name: 'New record' }).click();
    await page.getByRole('textbox', { name: 'Key' }).fill('greeting.acme.v1');
    await page.getByRole('textbox', { name: 'Data' }).fill('hello');
    await page.getByRole('button', { name: 'Save' }).click();
    const line = page.getByRole('status').filter({ hasText: 'saved' });
    await line.getByText('waiting for lon1').waitFor();
    await line.getByText(/answered \d/).waitFor();
    const waiting = (await line.textContent()) ?? '';
    assert.match(waiting, /on here 7 ms/);
    assert.match(waiting, /old1 is late/);
    nodes = [HERE, { ...LON1, applied: true }, OLD1];
    await line.getByText(/on lon1 within \d/).waitFor();
    assert.doesNotMatch((await line.textContent()) ?? '', /waiting/);
    assert.equal(seqs.size, 1, 'all questions are about this write');
    // At the end: the page asks for 20 seconds, and axe may take longer.
    nodes = [HERE, LON1, OLD1];
    await page.getByRole('button', { name: 'New record' }).click();
    await page.getByRole('textbox', { name: 'Key' }).fill('later.acme.v1');
    await page.getByRole('textbox', { name: 'Data' }).fill('hello');
    await page.getByRole('button', { name: 'Save' }).click();
    await line.getByText('waiting for lon1').waitFor();
    await axe('a write that a node does not have yet');
  });
});
