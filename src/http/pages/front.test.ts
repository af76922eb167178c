import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DashboardFiles } from './files.ts';
import { type DescribedService, type FrontFacts, openFront } from './front.ts';

const BUILT: DashboardFiles = {
  html: {
    shell: '<!doctype html><html lang="en"><title>uqrp</title>',
    landing:
      '<html data-zones="{{zones}}" data-dns="{{dns}}"><title>{{title}}</title>{{head}}<p>{{zone}}|{{dig}}|{{octets}}|{{signed}}|{{version}}</p>',
  },
  picture: '/assets/card-AB12CD34.png',
  files: new Map(),
};
const FACTS: FrontFacts = {
  isOn: true,
  version: '0.2.0',
  isPublic: true,
  zones: ['uqrp.net', 'example.net'],
  isSigned: true,
  dns: () => ({ host: 'uqrp.example', port: 53 }),
  documents: ['/docs', '/docs/protocol'],
  services: new Map([
    [
      'units',
      {
        title: 'Unit conversion',
        description: 'A "value" & its unit.',
        examples: ['get.5-km-to-mi.units.public.v1'],
        meanings: [{ fields: ['from'], values: [['km', 'kilometre']] }],
      },
    ],
  ]),
};
const GUEST = { isGuest: true, asksForLanding: false };
const USER = { isGuest: false, asksForLanding: false };

function open(facts: Partial<FrontFacts> = {}, publicUrl = 'https://uqrp.example') {
  const front = openFront(BUILT, () => publicUrl, { ...FACTS, ...facts });
  const text = async (file: ReturnType<typeof front.file>): Promise<string> =>
    (await file?.octets('identity'))?.toString() ?? 'none';
  return {
    page: (path: string, who: typeof GUEST) => text(front.page({ path, ...who })),
    file: (path: string) => text(front.file(path)),
    same: (one: string, other: string) =>
      front.page({ path: one, ...GUEST }) === front.page({ path: other, ...GUEST }),
  };
}

describe('the pages of visitors', () => {
  it('are at / for a request without a session cookie, or one that asks for them', async () => {
    const { page } = open();
    for (const who of [GUEST, { isGuest: false, asksForLanding: true }])
      assert.match(await page('/', who), /data-zones="uqrp\.net example\.net" data-dns="uqrp\.example 53"/);
    assert.equal(await page('/', USER), BUILT.html.shell);
  });

  it('say the ports, limits and signatures of this server', async () => {
    assert.match(
      await open().page('/', GUEST),
      /<p>uqrp\.net\|dig @uqrp\.example\|2,586\|Answers have.*\|0\.2\.0</,
    );
    const local = open({ dns: () => ({ host: 'localhost', port: 5300 }), isSigned: false });
    assert.match(await local.page('/', GUEST), /\|dig @localhost -p 5300\|2,586\|.*switched off/);
    assert.match(await open({ dns: () => null }).page('/', GUEST), /data-dns=""[\s\S]*<p>uqrp\.net\|dig\|/);
  });

  it('have a title and a description for each service, in the HTML and escaped', async () => {
    const html = await open().page('/services/units', GUEST);
    assert.match(html, /<html data-session="none" lang="en"><title>Unit conversion over DNS · uqrp<\/title>/);
    assert.match(html, /<meta name="description" content="A &quot;value&quot; &amp; its unit\.">/);
    assert.match(html, /<link rel="canonical" href="https:\/\/uqrp\.example\/services\/units">/);
    assert.match(html, /og:image" content="https:\/\/uqrp\.example\/assets\/card-AB12CD34\.png"/);
    assert.equal(await open().page('/services/none', USER), BUILT.html.shell);
  });

  it('name no address where there is no public one', async () => {
    const { page, file } = open({ isPublic: false }, 'http://localhost:8080');
    for (const path of ['/', '/services', '/services/units']) {
      const html = await page(path, GUEST);
      assert.match(html, /og:title/, path);
      assert.doesNotMatch(html, /canonical|og:url|og:image|localhost:8080/, path);
    }
    assert.equal(await file('/sitemap.xml'), 'none');
    assert.equal(await file('/robots.txt'), 'User-agent: *\nAllow: /\n');
  });

  it('are listed for search engines', async () => {
    const { file } = open();
    assert.match(await file('/robots.txt'), /Allow: \/\nSitemap: https:\/\/uqrp\.example\/sitemap\.xml\n/);
    const sitemap = await file('/sitemap.xml');
    for (const path of [
      '/',
      '/services',
      '/services/units',
      '/playground',
      '/api',
      '/docs',
      '/docs/protocol',
    ])
      assert.ok(sitemap.includes(`<loc>https://uqrp.example${path}</loc>`), path);
    assert.equal(await file('/records'), 'none');
  });

  it('say what closed values of a service mean, for the page of the service', async () => {
    const services = JSON.parse(await open().file('/services.json')) as Record<string, DescribedService>;
    assert.deepEqual(services.units, FACTS.services.get('units'));
  });

  it('are off where the operator says so: the dashboard alone at /, and nothing for search engines', async () => {
    const { page, file } = open({ isOn: false });
    const html = await page('/', GUEST);
    assert.equal(html, BUILT.html.shell.replace('<html ', '<html data-session="none" data-front="off" '));
    assert.equal(
      await page('/', { isGuest: false, asksForLanding: true }).then((text) => text.includes('data-zones')),
      false,
    );
    assert.equal(await file('/robots.txt'), 'User-agent: *\nDisallow: /\n');
    assert.equal(await file('/sitemap.xml'), 'none');
  });

  it('share one document where they have no head of their own, whatever paths are asked for', () => {
    const { same } = open();
    assert.equal(same('/services/none', '/services/other'), true);
    assert.equal(same('/services/units', '/services/other'), false);
  });
});
