/** The playground draws a proof of the transparency log, and checks it by a policy. Its answers are those of test/fixtures/transparency. */
import { it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { decodeEntries } from '../../src/protocol/transparency/tiles.ts';
import { browserTest } from '../support/browser/dashboard.ts';
import { exampleOctets, exampleText } from '../support/protocol/transparency/example.ts';

const LABEL = 'gtin-demo-v-1d2d0';
const HEADER = 12;
const manifest = Buffer.from(decodeEntries(exampleOctets('entries.bin'), 5)![1]!);
const proof = exampleText('entry-1.tlog-proof');
const POLICY = exampleText('policy.txt');

/** Answers the two names as a server with this log does, and leaves others alone. @param text of the proof */
async function answer(route: Route, text: string): Promise<void> {
  const query = route.request().postDataBuffer();
  const name = query?.toString('latin1') ?? '';
  if (query && name.includes(`${LABEL}\x03log\x08datasets`)) {
    const base64 = Buffer.from(text).toString('base64');
    await route.fulfill(
      reply(query, Buffer.from(`v=svc-tindex.v1;ds=gtin-demo;ver=1.2.0;e=b64;d=${base64}`)),
    );
  } else if (query && name.includes(`${LABEL}\x08datasets`)) {
    await route.fulfill(reply(query, manifest));
  } else {
    await route.continue();
  }
}

/** One TXT record, unsigned. */
function reply(query: Buffer, value: Buffer): { readonly contentType: string; readonly body: Buffer } {
  let end = HEADER;
  while (query[end] !== 0) end += query[end]! + 1;
  const header = Buffer.from(query.subarray(0, HEADER));
  header.set([0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0], 2);
  const rdata = Array.from({ length: Math.ceil(value.length / 255) }, (_, at) => {
    const part = value.subarray(at * 255, (at + 1) * 255);
    return Buffer.concat([Buffer.of(part.length), part]);
  });
  const record = Buffer.from('c00c0010000100000e100000', 'hex');
  record.writeUInt16BE(Buffer.concat(rdata).length, 10);
  // The question ends with type and class.
  const body = Buffer.concat([header, query.subarray(HEADER, end + 5), record, ...rdata]);
  return { contentType: 'application/dns-message', body };
}

browserTest('log-proof', (get) => {
  const region = (page: Page) => page.getByRole('region', { name: en.playground.proofLog });
  const policyBox = (page: Page) => region(page).getByRole('textbox', { name: en.playground.proofPolicy });
  const open = async (text: string): Promise<Page> => {
    const { page, origin } = get();
    await page.unroute('**/dns-query');
    await page.route('**/dns-query', (route) => answer(route, text));
    await page.goto(`${origin}/playground?name=manifest.${LABEL}.log.datasets.public.v1.uqrp.net`);
    return page;
  };

  it('draws the path from the leaf to the root, who cosigned when, and what the page cannot prove', async () => {
    await get().signIn();
    const page = await open(proof);
    await region(page).getByText(en.playground.proofFits).waitFor();
    await region(page).getByText(en.playground.proofUnchecked).waitFor();
    await region(page).getByText(en.playground.proofOnly).waitFor();
    await region(page).getByText('Entry 1 of 5 in api.example.net/log').waitFor();
    const path = region(page).getByRole('list', { name: en.playground.proofPath });
    await path.getByRole('listitem').nth(3).getByText(en.playground.proofRoot).waitFor();
    await region(page).getByText('not checked: cosigned by witness.example.org/w1').waitFor();
    await region(page).getByText('26 Nov 2026').waitFor();
    await get().axe('log proof');
  });

  it('checks the signatures by a policy of the reader', async () => {
    const { page } = get();
    await policyBox(page).fill(POLICY);
    await region(page).getByText(en.playground.proofTrusted).waitFor();
    await region(page)
      .getByText(/^cosigned by /)
      .first()
      .waitFor();
    await policyBox(page).fill(POLICY.replace('3a2c2dc1', '3a2c2dc2'));
    await region(page).getByText('another id than 3a2c2dc2').waitFor();
  });

  it('says of a proof of another entry that it does not lead to the root', async () => {
    const page = await open(proof.replace('index 1\n', 'index 2\n'));
    await region(page).getByText(en.playground.proofFitsNot).waitFor();
    await policyBox(page).fill(POLICY);
    await region(page).getByText(en.playground.notValid, { exact: true }).waitFor();
  });
});
