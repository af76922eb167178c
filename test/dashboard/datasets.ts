/** The dataset registry: who signed a manifest, and what held of an item at a date. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { browserTest } from '../support/browser/dashboard.ts';

const KEY = '4006381333931';
const MANIFEST = {
  slug: 'gtin-demo',
  version: '1.2.0',
  license: 'CC0-1.0',
  provenance: 'made for a test',
  url: 'https://data.example.net/gtin-demo.jsonl',
};
const ITEMS = [
  { k: KEY, from: '2020-01-01', to: '2024-02-29', issuer: 'Example GmbH', brand: 'Example', cc: 'DE' },
  { k: KEY, from: '2024-02-29', to: null, issuer: 'Example SE', brand: 'Example', cc: 'DE' },
];

browserTest(
  'datasets',
  (get) => {
    it('is empty at first', async () => {
      const { page, origin, signIn, axe } = get();
      await signIn();
      await page.goto(`${origin}/datasets`);
      await page.getByText(en.datasets.emptyTitle).waitFor();
      await axe('datasets, none');
    });

    it('checks who signed a manifest, and asks what held of an item', async () => {
      const { page, origin, server, context, axe, shot } = get();
      const folder = mkdtempSync(join(tmpdir(), 'uqrp-datasets-'));
      const file = (name: string, text: string): string => {
        writeFileSync(join(folder, name), text);
        return join(folder, name);
      };
      server.cli(['dataset', 'keygen']);
      const manifest = file('manifest.json', JSON.stringify(MANIFEST));
      const items = file('items.jsonl', ITEMS.map((item) => `${JSON.stringify(item)}\n`).join(''));
      const signed = file('signed.json', server.cli(['dataset', 'attest', manifest, '--items', items]));
      server.cli(['dataset', 'import', signed, '--items', items]);
      rmSync(folder, { recursive: true });
      // The empty list may be kept for a minute.
      await (await context.newCDPSession(page)).send('Network.clearBrowserCache');
      const row = page.getByRole('rowheader', { name: 'gtin-demo' });
      // The registry serves a version when all of it is stored, and a node takes it some time after that.
      for (let isThere = false; !isThere; isThere = await row.isVisible()) {
        await page.goto(`${origin}/datasets`);
        await row.or(page.getByText(en.datasets.emptyTitle)).first().waitFor();
      }
      await row.click();
      const valid = page.getByText(en.datasets.attested);
      const early = page
        .getByRole('button', { name: 'Try again' })
        .or(page.getByText(en.datasets.keyUnknown));
      await valid.or(early).first().waitFor();
      while (!(await valid.isVisible())) {
        await page.reload();
        await valid.or(early).first().waitFor();
      }
      await page.getByRole('textbox', { name: 'Item' }).fill(KEY);
      await page.getByRole('button', { name: 'Ask' }).click();
      await page.getByText('Example SE').waitFor();
      await page.getByRole('slider').fill(String(Math.floor(Date.UTC(2022, 0, 1) / 86_400_000)));
      await page.getByText('Example GmbH').waitFor();
      await page.getByRole('slider').fill(String(Math.floor(Date.UTC(2019, 0, 1) / 86_400_000)));
      await page.getByText(en.datasets.nothing).waitFor();
      await axe('datasets');
      await shot('datasets');
    });
  },
  { UQRP_DATASETS: 'on', UQRP_DATASETS_ASOF: 'on' },
);
