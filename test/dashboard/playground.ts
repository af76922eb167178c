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
    await shot('playground');
    const [ds = ''] = get().server.cli(['dnssec', 'ds']).trim().split('\n');
    await signatures(page).getByText(en.playground.trust).click();
    await signatures(page).getByText(ds).waitFor();
    await page.waitForURL((url) => url.searchParams.get('name') === UNITS);
    await axe('playground');
  });

  it('a changed octet makes the answer not valid, and takes it back', async () => {
    const { page, axe } = get();
    await page.getByRole('button', { name: 'Tamper with the answer' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('button:focus', { hasText: en.playground.restore }).waitFor();
    await signatures(page).getByText('not valid').first().waitFor();
    await signatures(page).getByText(en.playground.reasonNoMatch).first().waitFor();
    await answer(page).getByText(en.playground.verdictChanged).waitFor();
    await axe('playground, changed');
    await page.getByRole('button', { name: 'Show the answer as it came' }).click();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
  });

  it('each octet can be changed where it stands, and the chain breaks at its link', async () => {
    const { page } = get();
    const chain = signatures(page).getByRole('list', { name: en.playground.chain });
    const link = (step: string) => chain.getByRole('listitem').filter({ hasText: step });
    await link('TXT').getByText(en.playground.linkSigns).waitFor();
    const octet = (at: number) => page.getByRole('button', { name: `octet ${at}`, exact: true });
    const [first, second] = [90, 91];
    const hex = async (at: number) => parseInt((await octet(at).getAttribute('data-hex')) ?? '', 16);
    const before = await hex(first);
    await octet(first).click();
    await link('TXT').getByText(en.playground.linkBroken).waitFor();
    await link('ZSK').getByText(en.playground.linkSigns).waitFor();
    assert.equal(await hex(first), before ^ 1);
    // The next one by the keyboard, and both back by one button.
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator(`[aria-label="octet ${second}"][aria-pressed="true"]:focus`).waitFor();
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    await page.locator(`[aria-label="octet ${second}"]:focus`).waitFor();
    assert.equal(await hex(first), before);
    // The id of the message is signed by nobody, but it must be the one of the question.
    await octet(first).click();
    await octet(first).click();
    await link('TXT').getByText(en.playground.linkSigns).waitFor();
  });

  it('a failure is named for what it is, and is no tampering', async () => {
    const { page } = get();
    await page.route('**/dns-query', async (route) => {
      const query = route.request().postDataBuffer();
      // The question for the keys is answered by the server.
      if (query === null || !query.includes('units')) await route.continue();
      else await route.fulfill({ contentType: 'application/dns-message', body: providerFailure(query) });
    });
    await ask(page, UNITS);
    await answer(page).getByText(en.playground.headServfail).waitFor();
    await answer(page).getByText('provider unavailable').first().waitFor();
    await page.unroute('**/dns-query');
    const failures = [
      [null, 'SERVFAIL'],
      ['get.config.somebody.v1.uqrp.net', 'REFUSED'],
      ['get.5-km-to-mi.units.public.v01.uqrp.net', 'FORMERR'],
    ] as const;
    for (const [name, code] of failures) {
      if (name !== null) await ask(page, name);
      await signatures(page)
        .getByText(new RegExp(`failure is not signed: ${code}`))
        .waitFor();
      const text = await page.locator('main').innerText();
      assert.doesNotMatch(text, /not valid|changed on the way/i, code);
    }
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
    await page.getByRole('tab', { name: 'As dig' }).click();
    await page.getByRole('tabpanel').getByText(';; ANSWER SECTION').waitFor();
    await page.getByRole('tab', { name: 'Octets' }).click();
    // With another length in front of it the token would be read as something else, and shown.
    const ofToken = page.getByRole('button', { name: 'octet 12', exact: true });
    await ofToken.click();
    await page.getByText(en.playground.octetLocked).waitFor();
    assert.equal(await ofToken.getAttribute('aria-pressed'), 'false');
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
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    await page.getByText(en.playground.options, { exact: true }).click();
    for (const transport of ['DoH, GET', 'DoH, JSON']) {
      await page.getByLabel('Transport').selectOption(transport);
      await askButton(page).click();
      await answered(page);
      await signatures(page).getByText(en.playground.resultValid).waitFor();
    }
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByRole('tabpanel').getByText('"Status"').waitFor();
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

  it('a changed length leaves nothing to read, a changed value is struck out', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/playground?name=get.7-km-to-mi.units.public.v1&tamper=1`);
    // The zone was left out, and the address wants it changed.
    const box = page.getByRole('textbox', { name: 'Name', exact: true });
    await answer(page)
      .locator('s', { hasText: /^4\.34959/ })
      .waitFor();
    assert.equal(await box.inputValue(), 'get.7-km-to-mi.units.public.v1.uqrp.net');
    await answer(page).getByText(en.playground.verdictChanged).waitFor();
    await signatures(page).getByText('not valid').first().waitFor();
    await page.waitForURL((url) => !url.searchParams.has('tamper'));
    // The verdict stays in view beside the last octet.
    const octets = page.getByRole('group', { name: en.playground.octets }).getByRole('button');
    await octets.last().scrollIntoViewIfNeeded();
    const verdict = answer(page).getByText(en.playground.verdictChanged);
    const seen = await verdict.boundingBox();
    const { height = 0 } = page.viewportSize() ?? {};
    assert.ok(seen !== null && seen.y > 0 && seen.y + seen.height < height);
    await page.getByRole('button', { name: en.playground.restore }).click();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    assert.equal(await answer(page).locator('s').count(), 0);
    // The length of the first label of the question.
    await page.getByRole('button', { name: 'octet 12', exact: true }).click();
    await answer(page).getByText(en.playground.verdictChangedUnreadable).waitFor();
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await signatures(page).getByText(en.playground.resultValid).waitFor();
  });

  it('adds the zone to a name without it, and says what a name outside of it gets', async () => {
    const { page } = get();
    const box = page.getByRole('textbox', { name: 'Name', exact: true });
    await box.selectText();
    await page.keyboard.type('get.6-km-to-mi.units.public.v1');
    await page.getByText('The zone uqrp.net is added.').waitFor();
    await page.keyboard.press('Enter');
    await answer(page).getByText('3.72822715342').first().waitFor();
    assert.equal(await box.inputValue(), 'get.6-km-to-mi.units.public.v1.uqrp.net');
    await ask(page, 'google.com');
    await answer(page).getByText('This server answers for uqrp.net only.').waitFor();
    assert.equal(await answer(page).getByText(en.playground.refusedToken).count(), 0);
    await ask(page, 'a..b');
    await page.getByRole('alert').getByText('That is no DNS name.').waitFor();
  });

  it('the keyboard goes from the question to the experiments, and then to the answer', async () => {
    const { page } = get();
    await ask(page, UNITS);
    await signatures(page).getByText(en.playground.resultValid).waitFor();
    await page.getByRole('button', { name: en.playground.tryNegative }).focus();
    for (let at = 0; at < 30; at += 1) {
      const isInAnswer = await page.evaluate("document.activeElement.closest('.bench-answer') !== null");
      if (isInAnswer) break;
      assert.ok(await page.evaluate("document.activeElement.closest('.bench-more') !== null"), String(at));
      await page.keyboard.press('Tab');
    }
    assert.ok(await page.evaluate("document.activeElement.closest('.bench-answer') !== null"));
  });

  it('asks while somebody types, and edits the label that is pressed', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/playground`);
    const box = page.getByRole('textbox', { name: 'Name', exact: true });
    await page
      .getByRole('list', { name: en.playground.parts })
      .getByRole('button', { name: /^5-km-to-mi/ })
      .click();
    await page.keyboard.type('8-km-to-mi');
    await answer(page).getByText('4.9709695379').first().waitFor();
    const asked = 'get.8-km-to-mi.units.public.v1.uqrp.net';
    assert.equal(await box.inputValue(), asked);
    await page.locator('input:focus').waitFor();
    await page.waitForURL((url) => url.searchParams.get('name') === asked);
  });

  it('an address that is followed while the screen is shown is asked', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/playground`);
    await ask(page, UNITS);
    await answer(page).getByText('3.10685596119').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('get.9-km-to-mi.units.public.v1.uqrp.net');
    await page
      .getByRole('option', { name: /get\.9-km-to-mi/ })
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await answer(page).getByText('5.59234073014').first().waitFor();
    const box = page.getByRole('textbox', { name: 'Name', exact: true });
    assert.match(await box.inputValue(), /^get\.9-km/);
  });

  it('keeps the last asks, and compares two', async () => {
    const { page, axe } = get();
    await ask(page, UNITS);
    await answer(page).getByText('3.10685596119').first().waitFor();
    const last = page.getByRole('region', { name: en.playground.lastAsks });
    await last.getByRole('button', { name: /^Compare with get\.9-km/ }).click();
    const table = page.getByRole('tabpanel').getByRole('table');
    const row = table.getByRole('row').filter({ has: page.getByRole('rowheader', { name: /^res/ }) });
    assert.deepEqual(await row.getByRole('cell').allInnerTexts(), ['5.59234073014', '3.10685596119']);
    await row.getByText(en.playground.differs).waitFor({ state: 'attached' });
    // The bar of the page must not lie over a button.
    await page.evaluate('scrollTo(0, 0)');
    await axe('playground, compared');
    await last.getByRole('button', { name: /^get\.9-km/ }).click();
    await answer(page).getByText('5.59234073014').first().waitFor();
  });

  it('on a phone the answer comes into view under the button', async () => {
    const { page, origin } = get();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin}/playground`);
    await askButton(page).click();
    const value = answer(page).getByText('3.10685596119').first();
    await value.waitFor();
    await eventually(() =>
      value.evaluate((one) => {
        const { top, bottom } = one.getBoundingClientRect();
        return top >= 0 && bottom <= 422;
      }),
    );
    await page
      .getByRole('status')
      .filter({ hasText: en.playground.verdictBoth })
      .waitFor({ state: 'attached' });
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

/** The reply to a query when a provider of data is away: SERVFAIL with a TXT record that nobody signed. */
function providerFailure(query: Buffer): Buffer {
  const text = 'v=svc1;s=error;t=error;code=E009;msg=provider unavailable';
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const header = Buffer.concat([query.subarray(0, 2), Buffer.from('85020001000100000000', 'hex')]);
  const record = Buffer.from('c00c001000010000001e00003a', 'hex');
  record.writeUInt16BE(text.length + 1, 10);
  record[12] = text.length;
  return Buffer.concat([header, question, record, Buffer.from(text)]);
}
