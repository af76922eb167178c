/** What people see who are not signed in. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { eventually } from '../e2e/client.ts';
import { browserTest } from '../support/browser/dashboard.ts';
import { addAuthenticator } from '../support/control/passkeys/browser.ts';

const NAME = 'get.100-km-to-mi.units.public.v1.uqrp.net';

browserTest('visitor', (get) => {
  it('the first page asks by itself, checks two signatures, and asks what is typed or chosen', async () => {
    const { page, context, server, origin, axe, shot } = get();
    await page.goto(`${origin}/`);
    await page.getByRole('heading', { level: 1, name: 'Ask the DNS. It answers with data.' }).waitFor();
    const answer = page.getByRole('region', { name: 'Answer' });
    const signatures = page.getByRole('region', { name: 'Signatures' });
    await answer.getByText('62.1371192237 mi').waitFor();
    await signatures.getByText('signature valid (P-256)').waitFor();
    await signatures.getByText('signature valid (Ed25519)').waitFor();
    assert.equal(await signatures.getByText('not valid').count(), 0);
    const live = page.getByRole('list', { name: 'Live' }).getByRole('link');
    assert.equal(await live.count(), 8);
    await live.filter({ hasText: 'London to Tokyo' }).getByText('9,558.5 km').waitFor();
    await page.getByRole('figure', { name: 'dig' }).getByText(`-p ${server.ports.dns}`).waitFor();
    await axe('the first page');
    await shot('landing');

    await page.getByRole('textbox', { name: 'Name' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('get.5-km-to-mi.units.public.v1.uqrp.net');
    await page.keyboard.press('Enter');
    await answer.getByText('3.10685596119 mi').waitFor();
    await page.getByRole('figure', { name: 'curl' }).getByText('get.5-km-to-mi').waitFor();
    await page.getByRole('button', { name: '10.0.0.0/8' }).click();
    await answer.getByText('16,777,216 addresses').waitFor();
    assert.match(await page.getByRole('textbox', { name: 'Name' }).inputValue(), /^get\.10-0-0-0-8\.cidr/);
    for (const name of ['Services', 'Playground', 'API', 'Docs', 'Sign in'])
      assert.equal(await page.getByRole('link', { name }).count(), 1, name);
    assert.deepEqual(await context.cookies(), []);
  });

  it('a service whose sources do not answer is not available now, and nobody is accused', async () => {
    const { page, axe } = get();
    const answer = page.getByRole('region', { name: 'Answer' });
    const signatures = page.getByRole('region', { name: 'Signatures' });
    await page.getByRole('textbox', { name: 'Name' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('weather in London');
    await page.keyboard.press('Enter');
    await answer.getByText('not available now').waitFor();
    await signatures.getByText(/^asked in .*s$/).waitFor();
    assert.equal(await signatures.getByRole('link').count(), 0);
    await signatures.getByText(en.front.noSignature).waitFor();
    await axe('a provider that is down');
    await page.getByRole('textbox', { name: 'Name' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('get.greeting.nobody.v1.uqrp.net');
    await page.keyboard.press('Enter');
    await answer.getByText(en.front.refusedWhy).waitFor();
    await page.getByRole('textbox', { name: 'Name' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('what is..the matter');
    await page.keyboard.press('Enter');
    await answer.getByText('That is not a DNS name').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('get.nowhere-at-all.time.public.v1.uqrp.net');
    await page.keyboard.press('Enter');
    await answer.getByText(en.front.nothingWhy).waitFor();
    await signatures.getByText('signature valid (P-256)').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('uqrp.net');
    await page.keyboard.press('Enter');
    await signatures.getByText('signature valid (Ed25519)').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('get.greeting.nobody.v1.uqrp.net');
    await page.keyboard.press('Enter');
    await answer.getByText(en.front.refusedWhy).waitFor();
    await signatures.getByText(en.front.noSignature).waitFor();
    assert.equal(await signatures.getByText(/not valid|not what the zone/).count(), 0);
  });

  it('an answer that was changed on the way is not what the zone signed', async () => {
    const { page } = get();
    await page.route('**/dns-query', async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      const at = body.indexOf('res=62.');
      if (at > 0) body[at + 4] = 0x39;
      await route.fulfill({ response, body });
    });
    await page.getByRole('button', { name: '100 km → mi' }).click();
    const signatures = page.getByRole('region', { name: 'Signatures' });
    await signatures.getByText('signature not valid (P-256)').waitFor();
    await signatures.getByText('signature not valid (Ed25519)').waitFor();
    await signatures.getByText(en.front.forged).waitFor();
    await page.unroute('**/dns-query');
  });

  it('words and names without a zone are understood, and other names are told which ones are answered', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/`);
    const answer = page.getByRole('region', { name: 'Answer' });
    const signatures = page.getByRole('region', { name: 'Signatures' });
    const name = page.getByRole('textbox', { name: 'Name' });
    await answer.getByText('62.1371192237 mi').waitFor();
    await signatures.getByText(/its parent zone is not compared/).waitFor();
    for (const [typed, asked, shown] of [
      ['5 miles in km', 'get.5-mi-to-km.units.public.v1.uqrp.net', '8.04672 km'],
      ['get.2042.words.public.v1', 'get.2042.words.public.v1.uqrp.net', 'two thousand'],
      ['google.com', 'google.com', 'names that end in uqrp.net only'],
      ['', '', 'Type a name'],
    ] as const) {
      await name.click();
      await page.keyboard.press('Control+a');
      await page.keyboard.press('Delete');
      await page.keyboard.type(typed);
      await page.keyboard.press('Enter');
      await answer.getByText(shown).first().waitFor();
      assert.equal(await name.inputValue(), asked);
    }
  });

  it('what has no answer now gives its place to what has one', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/`);
    const live = page.getByRole('list', { name: 'Live' });
    const chips = page.getByRole('group', { name: en.front.chips }).getByRole('button');
    // The tests have no network, so nothing answers of what others have to answer for.
    await eventually(async () => (await live.getByText('Weather in London').count()) === 0);
    await eventually(async () => (await live.getByText('Bitcoin').count()) === 0);
    // The exchange rate is the third; until then it may say so.
    await eventually(async () => (await live.getByText('not available now').count()) === 0);
    assert.equal(await live.getByRole('link').count(), 8);
    await chips.filter({ hasText: '2042 in words' }).waitFor();
    assert.equal(await chips.filter({ hasText: 'weather' }).count(), 0);
    assert.equal(await chips.count(), 8);
  });

  it('the dice are rolled again, and the clock goes on', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/`);
    const live = page.getByRole('list', { name: 'Live' });
    const dice = live.getByRole('listitem').filter({ hasText: 'Dice' });
    await dice.getByText(/^\d \+ \d \+ 1 = \d+$/).waitFor();
    const asked = page.waitForResponse('**/dns-query');
    await dice.getByRole('button', { name: 'Roll again' }).click();
    assert.equal((await asked).status(), 200);
    const clock = live
      .getByRole('listitem')
      .filter({ hasText: 'Time in Tokyo' })
      .getByText(/^\d\d:\d\d:\d\d$/);
    const before = await clock.innerText();
    await eventually(async () => (await clock.innerText()) !== before);
  });

  it('is there without scripts, and for previews of links', async () => {
    const { origin, server } = get();
    const html = await (await fetch(`${origin}/`, { headers: { accept: 'text/html' } })).text();
    assert.match(html, /<h1>Ask the DNS\. It answers with data\.<\/h1>/);
    assert.ok(html.includes(`dig @127.0.0.1 -p ${server.ports.dns} TXT "get.100`));
    assert.match(html, /<meta property="og:title"/);
    assert.doesNotMatch(html, /\{\{/);
    assert.match(await (await fetch(`${origin}/robots.txt`)).text(), /^User-agent: \*\nAllow: \/\n$/);
  });

  it('a session that has ended leads to the first page, and the address stays as it was', async () => {
    const { page, context, origin, allow } = get();
    allow(/status of 401/);
    await context.addCookies([{ name: 'uqrp_session', value: 'ended', url: origin }]);
    await page.goto(`${origin}/`);
    await page.getByRole('heading', { level: 1, name: 'Ask the DNS. It answers with data.' }).waitFor();
    await page.getByRole('region', { name: 'Answer' }).getByText('62.1371192237 mi').waitFor();
    assert.equal(page.url(), `${origin}/`);
    await context.clearCookies();
  });

  it('the playground of a link answers, and nothing is asked that needs a session', async () => {
    const { page, origin, axe } = get();
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(response.url());
    });
    await page.goto(`${origin}/playground?name=${NAME}`);
    await page.getByRole('heading', { level: 1, name: en.playground.title }).waitFor();
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('62.1371192237').first().waitFor();
    await page
      .getByRole('region', { name: 'Signatures' })
      .getByText('valid', { exact: true })
      .first()
      .waitFor();
    await axe('playground of a visitor');
    assert.deepEqual(refused, []);
  });

  it('the header leads to the API, and a sign-in back to the page that was left for it', async () => {
    const { page, context, nextCode } = get();
    const site = page.getByRole('navigation', { name: 'Site' });
    await site.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'API', exact: true }).waitFor();
    await page.locator('h1:focus').waitFor();
    assert.deepEqual(await site.getByRole('link').allInnerTexts(), ['Services', 'Playground', 'API', 'Docs']);
    assert.deepEqual(await context.cookies(), []);
    await page.getByRole('link', { name: 'uqrp', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('62.1371192237 mi').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'API', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Sign in', exact: true }).click();
    await page.getByRole('textbox', { name: 'E-mail' }).click();
    await page.keyboard.type('ada@example.net');
    const code = nextCode();
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Code' }).click();
    await page.keyboard.type(await code);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'API', exact: true }).waitFor();
    await page.waitForURL((url) => url.pathname === '/api');
    assert.equal(await site.count(), 0);
  });

  it('a passkey can be added after the page of the sign-in was left', async () => {
    const { page } = get();
    await addAuthenticator(page);
    // In the same document: a request for a passkey that the form of the sign-in left behind would refuse this one.
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Account' }).click();
    await page.getByRole('button', { name: 'Add a passkey' }).last().click();
    await page.getByText(en.account.passkeyAdded).first().waitFor();
  });
});

browserTest(
  'without the page of visitors',
  (get) => {
    it('/ leads to the sign-in, and nothing is for search engines', async () => {
      const { page, origin, signIn } = get();
      await page.goto(`${origin}/`);
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      await page.waitForURL((url) => url.pathname === '/sign-in');
      assert.match(await (await fetch(`${origin}/robots.txt`)).text(), /Disallow: \/\n/);
      await page.goto(`${origin}/playground`);
      await page.getByRole('heading', { level: 1, name: en.playground.title }).waitFor();
      await signIn();
    });
  },
  { UQRP_FRONT: 'off' },
);

browserTest(
  'the page of visitors with a public address',
  (get) => {
    it('tells search engines and previews of links where it is, with a picture that is there', async () => {
      const { origin } = get();
      const html = await (await fetch(`${origin}/`)).text();
      assert.ok(html.includes('<link rel="canonical" href="https://uqrp.example/">'));
      const picture = /og:image" content="https:\/\/uqrp\.example(\/assets\/card-[^"]+)"/.exec(html)?.[1];
      const answer = await fetch(`${origin}${picture}`);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'image/png']);
      const sitemap = await (await fetch(`${origin}/sitemap.xml`)).text();
      for (const path of ['/', '/services/units', '/docs/dashboard'])
        assert.ok(sitemap.includes(`<loc>https://uqrp.example${path}</loc>`), path);
      assert.ok(html.includes('dig @uqrp.example '));
    });
  },
  { UQRP_PUBLIC_URL: 'https://uqrp.example' },
);
