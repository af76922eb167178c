/** The pages of the public services, as visitors use them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { browserTest } from '../support/browser/dashboard.ts';
import { allServices } from '../support/services/all-services.ts';

/** Services that others have to answer for: the tests have no network, so each says so. */
const OF_PROVIDERS: ReadonlySet<string> = new Set(['weather', 'forecast', 'stock', 'forex', 'crypto', 'btc']);

browserTest('services', (get) => {
  it('all that are on are listed, each with what it says now', async () => {
    const { page, origin, axe, shot } = get();
    await page.goto(`${origin}/services`);
    await page.getByRole('heading', { level: 1, name: 'Public services' }).waitFor();
    const cards = page.getByRole('main').getByRole('listitem');
    await cards.filter({ hasText: 'Distance' }).getByText('9,558.5 km').waitFor();
    await page
      .getByRole('list', { name: 'not available now' })
      .getByRole('link', { name: 'Exchange rate' })
      .waitFor();
    // Stock needs a key of a provider, and btc is off.
    assert.equal(await cards.count(), allServices().length - 2);
    await axe('services');
    await shot('services');
    await cards.filter({ hasText: 'Distance' }).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Distance' }).waitFor();
    await page.waitForURL((url) => url.pathname === '/services/aerial');
  });

  it('a person types values as usual, and the form makes the name of them', async () => {
    const { page, origin, axe, shot } = get();
    await page.goto(`${origin}/services/units`);
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('3.10685596119 mi').waitFor();
    await page.getByRole('textbox', { name: 'Value' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('-40.5');
    await page.getByLabel('From', { exact: true }).selectOption({ label: 'c: degree Celsius' });
    const to = page.getByLabel('To', { exact: true });
    // A unit of length is no unit of temperature.
    assert.equal(await to.locator('option').filter({ hasText: 'kilometre' }).count(), 0);
    assert.notEqual(await to.inputValue(), 'mi');
    await to.selectOption({ label: 'f: degree Fahrenheit' });
    await page.getByText('get.n40d5-c-to-f.units.public.v1.uqrp.net', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await answer.getByText('-40.9 °F').waitFor();
    await page.getByRole('region', { name: 'Signatures' }).getByText('signature valid (Ed25519)').waitFor();
    await page.getByRole('figure', { name: 'dig' }).getByText('n40d5-c-to-f').waitFor();
    assert.equal(
      await page.getByRole('list', { name: en.services.examples }).getByRole('listitem').count(),
      3,
    );
    await axe('a service');
    await shot('service');
  });

  it('examples are as a person writes them, and what is not understood is told what is', async () => {
    const { page, origin } = get();
    await page.goto(`${origin}/services/dice`);
    await page.getByText('Such as 2d6+1; d20; 4d6-2').waitFor();
    await page.getByRole('textbox', { name: 'Dice' }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('many');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Answer' }).getByText('understood: Dice 2d6+1.').waitFor();
  });

  it('closed values and codes are said with their meaning, from the tables of the server', async () => {
    const { page, origin, axe } = get();
    for (const [name, words] of [
      ['units', ['kilometre', 'US fluid ounce', 'foot a second']],
      ['moon', ['waxing-gibbous']],
      ['sun', ['polarnight', 'the sun stays down']],
      ['forecast', ['58-61', 'light rain', 'thunderstorm with hail', 'Open-Meteo.com, CC BY 4.0']],
      ['forex', ['E010 ratelimit', 'Providers unavailable, nothing kept; SERVFAIL']],
    ] as const) {
      await page.goto(`${origin}/services/${name}`);
      await page.getByRole('heading', { name: en.services.fields }).waitFor();
      const main = page.getByRole('main');
      for (const word of words) await main.locator('dd, dt, td').filter({ hasText: word }).first().waitFor();
    }
    await page.goto(`${origin}/services/forecast`);
    await page.getByText('58-61').waitFor();
    await axe('a service with many fields');
  });

  for (const { resource, about } of allServices()) {
    it(`${resource} is asked by its form, and has a title of its own for search engines`, async () => {
      const { page, origin } = get();
      const html = await (await fetch(`${origin}/services/${resource}`)).text();
      assert.ok(html.includes(`<title>${about.schema.title} over DNS · uqrp</title>`), resource);
      assert.match(html, /<meta name="description" content="[^"]{20,}">/);
      await page.goto(`${origin}/services/${resource}`);
      await page.getByRole('heading', { level: 1, name: about.schema.title, exact: true }).waitFor();
      const answer = page.getByRole('region', { name: 'Answer' });
      const asked = page.waitForResponse('**/dns-query');
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      assert.equal((await asked).status(), 200);
      await answer
        .locator(OF_PROVIDERS.has(resource) ? '.front-big.quiet' : '.front-big:not(.quiet)')
        .waitFor();
      if (OF_PROVIDERS.has(resource)) await answer.getByText('not available now').waitFor();
      assert.equal(await page.getByText('not valid').count(), 0);
    });
  }

  it('a service that does not exist says so, and leads to those that do', async () => {
    const { page, origin, allow, axe } = get();
    allow(/status of 404.*\/schema/);
    await page.goto(`${origin}/services/nothing`);
    await page.getByText(en.services.unknown).waitFor();
    await axe('no such service');
    await page.getByRole('main').getByRole('link', { name: en.services.all }).click();
    await page.getByRole('heading', { level: 1, name: 'Public services' }).waitFor();
  });

  it('signed in, the services are in the navigation', async () => {
    const { page, signIn } = get();
    await signIn();
    const main = page.getByRole('navigation', { name: 'Main' });
    await main.getByRole('link', { name: 'Services' }).click();
    await page.getByRole('heading', { level: 1, name: 'Public services' }).waitFor();
    await page.getByText('9,558.5 km').waitFor();
    await main.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
});
