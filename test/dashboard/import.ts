/** Import and export: a dry run, bulk writes with stop and resume, the result as a file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { type Account, account } from '../support/server-process.ts';

const CANARY = '<img src=x onerror=alert(1)>';

function lines(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

async function choose(page: Page, name: string, text: string): Promise<void> {
  const file = { name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) };
  await page.getByLabel('File').setInputFiles(file);
}

browserTest('import', (get) => {
  let ada: Account;

  it('needs a namespace', async () => {
    const { page, origin, server, signIn, axe } = get();
    ada = account(server, 'ada@example.net', 'pro');
    await signIn();
    await page.goto(`${origin}/records/import`);
    await page.getByRole('heading', { name: 'You have no namespace yet' }).waitFor();
    await axe('import without a namespace');
  });

  it('shows what is new, changed, the same and refused before it writes anything', async () => {
    const { page, origin, axe, shot } = get();
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    for (const name of ['same', 'old']) {
      await ada.call('POST', '/records', {
        record: { key: `${name}.acme.v1`, data: 'YQ==', content_type: 'text/plain' },
      });
    }
    await page.goto(`${origin}/records/import?namespace=acme`);
    await axe('import');
    const sample = page.waitForEvent('download');
    await page.getByRole('button', { name: 'sample.csv' }).click();
    await choose(page, 'sample.csv', readFileSync(await (await sample).path(), 'utf8'));
    await page.getByRole('row').filter({ hasText: 'greeting.acme.v1' }).getByText('Hello, world').waitFor();
    await page.getByText('1 new, 0 changed, 0 the same, 0 refused').waitFor();
    await choose(
      page,
      'acme.jsonl',
      lines([
        { key: 'same.acme.v1', data: 'YQ==', content_type: 'text/plain' },
        { key: 'old.acme.v1', data: 'Yg==', content_type: 'text/plain' },
        { key: 'new.acme.v1', data: 'Yg==' },
        { key: CANARY, data: '' },
        { key: 'a.other.v1', data: '' },
        { key: 'b.acme.v1', data: 'not base64' },
      ]),
    );
    await page.getByText('1 new, 1 changed, 1 the same, 3 refused').waitFor();
    await page.getByRole('row').filter({ hasText: CANARY }).getByText('A key is [params.]').waitFor();
    await page.getByRole('row').filter({ hasText: 'old.acme.v1' }).getByText('data: a → b').waitFor();
    await axe('a dry run');
    await shot('import');
    await page.getByRole('button', { name: /^refused/ }).click();
    assert.equal(await page.getByRole('rowheader').count(), 3);
    assert.equal(((await ada.call('GET', '/records')).body as unknown[]).length, 2);
  });

  it('writes, and gives the result as a file', async () => {
    const { page, axe } = get();
    await page.getByText('This takes 1 write of your 60 a minute.').waitFor();
    await page.getByRole('button', { name: 'Import 2 records' }).click();
    await page.getByText('Done: 2 written.').waitFor();
    // To be full is good here.
    assert.match((await page.getByRole('progressbar').getAttribute('class')) ?? '', /done/);
    await axe('an import that is done');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the result as a file' }).click();
    const text = readFileSync(await (await saved).path(), 'utf8');
    const results = text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { result: string }).result);
    assert.deepEqual(results, ['same', 'replaced', 'created', 'refused', 'refused', 'refused']);
  });

  it('reads CSV, and asks where the variables of a .env file go', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/records/import?namespace=acme`);
    await choose(page, 'a.csv', 'key,text,ttl_seconds\ncsv.acme.v1,"a, ""b""",60\n');
    await page.getByText('1 new, 0 changed').waitFor();
    await choose(page, '.env', 'DATABASE_URL="postgres://x"\nEMPTY=\n');
    await page.getByRole('textbox', { name: 'Resource' }).fill('settings');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('rowheader', { name: 'database-url.settings.acme.v1' }).waitFor();
    await page.getByRole('button', { name: 'Import 2 records' }).click();
    await page.getByText('Done: 2 written.').waitFor();
    const { body } = await ada.call('GET', '/records?key=database-url.settings.acme.v1');
    assert.equal(atob((body as { data: string }[])[0]?.data ?? ''), 'postgres://x');
  });

  it('stops, goes on, and survives a lost connection', async () => {
    const { page, origin, context, allow } = get();
    allow(/ERR_INTERNET_DISCONNECTED/);
    await page.goto(`${origin}/records/import?namespace=acme`);
    const many = Array.from({ length: 4000 }, (_, n) => ({ key: `n${n}.many.acme.v1`, data: 'YQ==' }));
    await choose(page, 'many.jsonl', lines(many));
    await page.getByText('4,000 new').waitFor();
    // Each request waits for the test, which so decides where the job stands.
    let pass: (() => void) | null = null;
    let requests = 0;
    await page.route('**/api/v1/records/bulk', async (route) => {
      requests += 1;
      if (requests === 2) await new Promise<void>((resolve) => (pass = resolve));
      await route.fallback();
    });
    await page.getByRole('button', { name: 'Import 4,000 records' }).dblclick();
    await page.getByText('500 of 4,000').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    while (pass === null) await page.waitForTimeout(10);
    (pass as () => void)();
    await page.getByText('Stopped.').waitFor();
    await context.setOffline(true);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('It goes on when the connection is back.').waitFor();
    await context.setOffline(false);
    await page.getByText('Done: 4,000 written.').waitFor();
    await page.unroute('**/api/v1/records/bulk');
    const { body } = await ada.call('GET', '/namespaces');
    assert.equal((body as { records_count: number }[])[0]?.records_count, 4000 + 5 + 0);
  });

  it('a namespace is exported as a file that an import finds unchanged', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/records?namespace=acme`);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export all records' }).click();
    const download = await saved;
    assert.equal(download.suggestedFilename(), 'acme.jsonl');
    const text = readFileSync(await download.path(), 'utf8');
    await page.goto(`${origin}/records/import?namespace=acme`);
    await choose(page, 'acme.jsonl', text);
    await page.getByText('0 new, 0 changed, 4,005 the same, 0 refused').waitFor();
    await page.getByText('Nothing would change.').waitFor();
  });
});
