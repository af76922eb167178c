/** Windows that are wider than the content: 3,840 by 2,160 pixels, and phones. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { browserTest } from '../support/browser/dashboard.ts';
import { account, writeRecords } from '../support/server-process.ts';

const PATHS = [
  ...['/', '/namespaces', '/namespaces/acme', '/records', '/records/import', '/playground', '/query-log'],
  ...['/webhooks', '/api-keys', '/usage', '/datasets', '/api', '/account', '/audit'],
  ...[
    '/namespaces/acme?tab=changes',
    '/namespaces/acme?tab=settings',
    '/records?history=item-1.flags.acme.v1',
  ],
];

/** Pixels by which what is in the page is wider than its place. */
async function overflow(page: Page): Promise<number> {
  return Number(
    await page.evaluate(
      "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('main'))",
    ),
  );
}

browserTest('wide', (get) => {
  it('no screen is wider than its window at 320, 390 and 3,840 pixels', async () => {
    const { page, origin, server, signIn } = get();
    const ada = account(server, 'ada@example.net');
    await ada.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const records = Array.from({ length: 300 }, (_, n) => ({ key: `item-${n}.flags.acme.v1`, data: 'b24=' }));
    await writeRecords(ada, records);
    await signIn();
    for (const size of [
      { width: 320, height: 640 },
      { width: 390, height: 844 },
      { width: 3840, height: 2160 },
    ]) {
      await page.setViewportSize(size);
      for (const path of PATHS) {
        await page.goto(`${origin}${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        const over = await overflow(page);
        assert.ok(over <= 0, `${path} at ${size.width}: ${over} pixels too wide`);
      }
    }
  });

  it('4K: the content is in the middle, its text is larger, and a table uses the height', async () => {
    const { page, origin, axe } = get();
    await page.setViewportSize({ width: 3840, height: 2160 });
    await page.goto(`${origin}/records`);
    const table = page.getByRole('table', { name: 'Records' });
    await page.getByRole('rowheader', { name: 'item-120.flags.acme.v1' }).waitFor();
    const nav = (await page.getByRole('navigation', { name: 'Main' }).boundingBox())!;
    const main = (await page.getByRole('main').boundingBox())!;
    const right = 3840 - (main.x + main.width);
    assert.ok(Math.abs(nav.x - right) < 60, `${nav.x} pixels at the left, ${right} at the right`);
    const row = (await page.getByRole('row').nth(1).boundingBox())!;
    assert.equal(row.height, 60);
    assert.ok((await table.boundingBox())!.height > 1_500);
    // The page counts rows as high as the style sheet makes them: the last one is at the end of the table.
    await table.press('End');
    const last = (await page.getByRole('row').and(page.locator(':focus')).boundingBox())!;
    const frame = (await table.boundingBox())!;
    assert.ok(last.y >= frame.y && last.y + last.height <= frame.y + frame.height + 1);
    assert.ok((await page.getByRole('row').count()) < 100);
    await axe('records at 4K');
  });

  it('a table that grows with its window shows the rows that come into view', async () => {
    const { page, origin } = get();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${origin}/records`);
    await page.getByRole('rowheader').first().waitFor();
    assert.ok((await page.getByRole('row').count()) < 40);
    await page.setViewportSize({ width: 1280, height: 2800 });
    await page.getByRole('row').nth(50).waitFor();
  });
});
