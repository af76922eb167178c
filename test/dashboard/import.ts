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

async function choose(page: Page, name: string, text: string | Buffer): Promise<void> {
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

  it('a file that is not UTF-8 is refused, and no longer stored with other letters', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/records/import?namespace=acme`);
    await choose(page, 'town.csv', Buffer.from('key;text\r\ntown.acme.v1;Z\u00fcrich\r\n', 'latin1'));
    await page.getByText('town.csv is not text in UTF-8.').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Import \d/ }).count(), 0);
  });

  it('what was compared goes when another file, or another place for it, is chosen', async () => {
    const { page } = get();
    const start = page.getByRole('button', { name: /^Import \d/ });
    await choose(page, 'first.csv', 'key,text\nfirst.acme.v1,one\n');
    await start.waitFor();
    await choose(page, 'second.env', 'SECOND=two\n');
    await page.getByRole('textbox', { name: 'Resource' }).waitFor();
    assert.equal(await start.count(), 0);
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await start.waitFor();
    await page.getByRole('textbox', { name: 'Resource' }).fill('other');
    await start.waitFor({ state: 'detached' });
  });

  it('what somebody has changed since the comparison is not written over, but named; the rest is written', async () => {
    const { page, allow } = get();
    allow(/status of 412/);
    const make = async (name: string): Promise<void> => {
      const record = { key: `${name}.later.acme.v1`, data: btoa('theirs'), content_type: 'text/plain' };
      assert.equal((await ada.call('POST', '/records/bulk', { records: [record] })).status, 200);
    };
    await make('a');
    await make('b');
    // More than are asked for one by one.
    const names = ['a', 'b', 'c', 'd', ...Array.from({ length: 20 }, (_, n) => `n${n}`)];
    await choose(page, 'a.csv', `key,text\n${names.map((name) => `${name}.later.acme.v1,mine\n`).join('')}`);
    await page.getByText('22 new, 2 changed').waitFor();
    await make('a');
    await make('c');
    await page.getByRole('button', { name: 'Import 24 records' }).click();
    await page.getByText(/22 written/).waitFor();
    for (const name of ['a', 'c']) {
      const row = page.getByRole('row').filter({ hasText: `${name}.later.acme.v1` });
      await row.getByText('Somebody has changed it since').waitFor();
    }
    const { body } = await ada.call('GET', '/records?resource=later&limit=100');
    const theirs = (body as unknown as { key: string; data: string }[]).filter(
      ({ data }) => atob(data) === 'theirs',
    );
    assert.deepEqual(theirs.map(({ key }) => key).sort(), ['a.later.acme.v1', 'c.later.acme.v1']);
    for (const name of names) {
      const [record] = (await ada.call('GET', `/records?key=${name}.later.acme.v1`)).body as { id: string }[];
      await ada.call('DELETE', `/records/${record?.id}`);
    }
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
