/** The playground: answers and their signatures, changed answers, names with a token, the experiments. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { EXPERIMENT_IDS } from '../../dashboard/src/screens/playground/experiments.ts';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { Uqrp } from '../../sdk/src/uqrp-sdk.ts';
import { eventually } from '../e2e/client.ts';
import { browserTest } from '../support/browser/dashboard.ts';

const UNITS = 'get.5-km-to-mi.units.public.v1.uqrp.net';

browserTest('playground', (get) => {
  const signatures = (page: Page) => page.getByRole('region', { name: 'Signatures' });
  const answer = (page: Page) => page.getByRole('region', { name: 'Answer' });
  const askButton = (page: Page) => page.getByRole('button', { name: 'Ask', exact: true });
  /** Until then the page shows the answer before, and another question would cancel this one. */
  const answered = (page: Page) => askButton(page).and(page.locator(':not([aria-busy])')).waitFor();
  const ask = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await askButton(page).click();
    await answered(page);
  };

  it('asks, shows the answer and finds its signatures valid', async () => {
    const { page, origin, signIn, axe, shot } = get();
    await signIn();
    await page.goto(`${origin}/playground`);
    await ask(page, UNITS);
    await answer(page).getByText('3.10685596119').first().waitFor();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    assert.equal(await signatures(page).getByText('valid', { exact: true }).count(), 4);
    assert.equal(await signatures(page).getByText('not valid').count(), 0);
    const [ds = ''] = get().server.cli(['dnssec', 'ds']).trim().split('\n');
    await signatures(page).getByText(ds).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('name'), UNITS);
    await axe('playground');
    await shot('playground');
  });

  it('a changed octet makes the answer not valid, and takes it back', async () => {
    const { page, axe } = get();
    await page.getByRole('button', { name: 'Tamper with the answer' }).click();
    await signatures(page).getByText('not valid').first().waitFor();
    await signatures(page).getByText(en.playground.reasonNoMatch).first().waitFor();
    await axe('playground, changed');
    await page.getByRole('button', { name: 'Show the answer as it came' }).click();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
  });

  it('an answer that was changed on the way is not valid', async () => {
    const { page } = get();
    await page.route('**/dns-query', async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      const at = body.indexOf('res=3.1');
      if (at > 0) body[at + 4] = 0x39;
      await route.fulfill({ response, body });
    });
    await ask(page, UNITS);
    await answer(page).getByText('9.10685596119').first().waitFor();
    await signatures(page).getByText('not valid').first().waitFor();
    await page.unroute('**/dns-query');
    await ask(page, UNITS);
    await signatures(page).getByText(en.playground.resultValid).waitFor();
  });

  it('the parent zone decides whose keys they are', async () => {
    const { page, server } = get();
    await page.getByText('Compare with the parent zone').click();
    const box = page.getByRole('textbox', { name: 'DS records of the parent zone' });
    await box.fill(server.cli(['dnssec', 'ds']));
    await signatures(page).getByText(en.playground.anchored).waitFor();
    await box.fill(`uqrp.net. IN DS 1 13 2 ${'AB'.repeat(32)}`);
    await signatures(page).getByText(en.playground.notAnchored).waitFor();
    await signatures(page).getByText('not valid').first().waitFor();
  });

  it('a private name with its token is read, and leaves no trace of the token', async () => {
    const { page, origin, context, server, nextCode, axe } = get();
    const nobody = new Uqrp({ baseUrl: `${origin}/api/v1` });
    const code = nextCode();
    await nobody.auth.signIn('ada@example.net');
    const { token: session } = await nobody.auth.verify('ada@example.net', await code);
    const api = nobody.withToken(session);
    const { id } = await api.namespaces.create('playtest');
    await api.records.put('greeting.playtest.v1', { text: 'hello from afar' });
    const { token } = await api.queryTokens.mint(id, { name: 'page', expires_in_days: 1 });
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    page.on('framenavigated', (frame) => urls.push(frame.url()));
    await page.goto(`${origin}/playground`);
    for (let isRead = false; !isRead; ) {
      // The node takes the record and the token some milliseconds after the write.
      await ask(page, `get.auth-${token}.greeting.playtest.v1.uqrp.net`);
      await page.getByText(en.playground.secret).waitFor();
      await answer(page).getByText('Asked twice').waitFor();
      isRead = (await answer(page).getByText('hello from afar').count()) > 0;
    }
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    const box = page.getByRole('textbox', { name: 'Name', exact: true });
    assert.match(await box.inputValue(), /^get\.auth-•+\.greeting\.playtest\.v1\.uqrp\.net$/);
    await page.getByText(/^Records \(/).click();
    await axe('playground, private');
    const stored = await page.evaluate(`(async () => JSON.stringify([
      location.href, document.title, { ...localStorage }, { ...sessionStorage }, history.state, document.body.innerText,
      document.body.outerHTML, [...document.querySelectorAll('input')].map((input) => input.value),
      await indexedDB.databases(), await caches.keys(), navigation.entries().map((entry) => entry.url),
    ]))()`);
    for (const trace of [stored as string, ...urls]) {
      assert.ok(!trace.toLowerCase().includes(token.slice(4).toLowerCase()));
    }
    const { cookies } = await context.storageState();
    assert.ok(!JSON.stringify(cookies).includes(token));
    // The mask is asked with the token that it stands for: only a new answer takes the change of the one before back.
    await page.getByRole('button', { name: 'Tamper with the answer' }).click();
    await signatures(page).getByText('not valid').first().waitFor();
    await askButton(page).click();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    await answer(page).getByText('hello from afar').first().waitFor();
    await ask(page, 'get.greeting.playtest.v1.uqrp.net');
    await answer(page).getByText(en.playground.refusedToken).waitFor();
    assert.ok(server.pid > 0);
  });

  it('runs all ten experiments', async () => {
    const { page, axe } = get();
    const seen: Readonly<Record<(typeof EXPERIMENT_IDS)[number], RegExp>> = {
      units: /3\.10685596119/,
      case: /3\.10685596119/,
      truncation: /over UDP this reply would be cut off/,
      version: /Extended error 0, Other: version/,
      private: /REFUSED never says why/,
      expired: /REFUSED|NOERROR/,
      info: /\$schema/,
      sun: /polarnight/,
      signatures: /DNSKEY/,
      negative: /NXNAME means that nothing exists/,
    };
    for (const id of EXPERIMENT_IDS) {
      const title = en.playground[`try${id[0]?.toUpperCase()}${id.slice(1)}` as 'tryUnits'];
      await page.getByRole('button', { name: title }).click();
      await answered(page);
      await answer(page).getByText(seen[id]).first().waitFor({ state: 'attached' });
      await signatures(page).waitFor();
      assert.equal(await signatures(page).getByText('not valid').count(), 0, id);
    }
    await axe('playground, negative answer');
  });

  it('asks by GET and JSON, and has forms for services and names', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/playground?name=get.100-km-to-mi.units.public.v1.uqrp.net&type=TXT`);
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    assert.equal(await name.inputValue(), 'get.100-km-to-mi.units.public.v1.uqrp.net');
    for (const transport of ['DoH, GET', 'DoH, JSON']) {
      await page.getByLabel('Transport').selectOption(transport);
      await askButton(page).click();
      await answered(page);
      await signatures(page).getByText(en.playground.resultValid).waitFor();
    }
    await answer(page).getByText('"Status"').waitFor();
    await page.getByRole('button', { name: 'Public services' }).click();
    await page.getByLabel('Service', { exact: true }).selectOption('moon');
    await page.getByText('moon', { exact: true }).first().waitFor();
    await eventually(() =>
      page.evaluate<boolean>(
        `[...document.querySelectorAll('input')].some((input) => input.value.includes('.moon.public.v1'))`,
      ),
    );
    await name.fill('get.100-km-to-mi.units.public.v1.uqrp.net');
    await page.getByRole('button', { name: 'Build a name' }).click();
    await page.getByLabel('Encoding of param 1').selectOption('hex-');
    await eventually(async () =>
      /^get\.hex-[0-9a-f]+\.units\.public\.v1\.uqrp\.net$/.test(await name.inputValue()),
    );
    await page.getByRole('button', { name: 'Copy as' }).click();
    for (const tab of ['dig', 'kdig', 'curl', 'node', 'python', 'go', 'shell']) {
      await page.getByRole('tab', { name: tab, exact: true }).click();
      await page.getByRole('tabpanel').getByText('hex-').first().waitFor();
    }
  });
});
