import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type DocumentPages, type DocumentsManifest, openDocuments } from '../../src/http/pages/documents.ts';
import { hasMarks, marked, type ServerNames } from '../../src/http/pages/fill.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const KB = 1024;
const NAMES: ServerNames = {
  zone: 'dns.example.com',
  origin: 'https://api.example.com',
  dns: { host: '192.0.2.7', dns: 53, dot: 853, doh: 443 },
  nameServer: 'ns1.dns.example.com',
};
/** What a page may have, and which attributes. */
const ELEMENTS = new Set(
  'html head meta title link script body a header span nav button svg path circle rect div input p ul ol li details summary main article h1 h2 h3 h4 h5 h6 table thead tbody tr th td pre code strong em del br hr blockquote img picture source'.split(
    ' ',
  ),
);
const ATTRIBUTES = new Set(
  'lang charset name content rel href type as crossorigin src class id aria-label aria-hidden aria-current aria-expanded aria-controls role hidden autocomplete spellcheck placeholder tabindex alt width height loading srcset media start open data-language data-search viewBox d cx cy r rx x y'.split(
    ' ',
  ),
);

interface BuiltPage {
  readonly url: string;
  readonly html: string;
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

describe('the documents as pages', () => {
  let manifest: DocumentsManifest;
  let documents: DocumentPages;
  const pages = new Map<string, BuiltPage>();

  before(async () => {
    execFileSync(process.execPath, ['dashboard/build.ts'], { cwd: ROOT, stdio: 'ignore' });
    manifest = JSON.parse(readFileSync(join(ROOT, 'dashboard/dist/docs/manifest.json'), 'utf8'));
    documents = openDocuments(ROOT, () => NAMES)!;
    for (const url of [...Object.keys(manifest.pages), '/docs/there-is-no-such-page'])
      pages.set(url, pageOf(url, await textAt(url)));
  });

  async function textAt(url: string): Promise<string> {
    const found = await documents.find(url);
    assert.ok(found !== null && found.status !== 302, url);
    return (await found.file.octets('identity')).toString();
  }

  it('are all documents of docs/, each in the index of every page', () => {
    const sources = new Set(Object.values(manifest.pages).map(({ markdown }) => markdown));
    const wanted = ['README.md', 'sdk/README.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
    assert.deepEqual(
      wanted.filter((path) => !sources.has(path)),
      [],
    );
    for (const { url, html } of pages.values()) {
      const index = html.slice(html.indexOf('id="index"'), html.indexOf('<main'));
      for (const page of Object.keys(manifest.pages))
        assert.ok(index.includes(`href="${page}"`), `${url}: ${page}`);
      assert.equal(html.match(/<h1 /g)?.length ?? html.match(/<h1>/g)?.length, 1, url);
    }
  });

  it('lead, with every link inside, to a page, to one of its anchors or to a file', () => {
    const outside = /^\/(?:services|playground|api|sign-in|assets\/[\w.-]+)?$/;
    const faults: string[] = [];
    for (const { url, links } of pages.values()) {
      for (const link of links) {
        if (/^https?:\/\//.test(link) || outside.test(link)) continue;
        const [path = '', anchor = ''] = link.split('#');
        const target = pages.get(path === '' ? url : path);
        const isThere =
          target === undefined
            ? Object.hasOwn(manifest.files, path)
            : anchor === '' || target.ids.has(anchor);
        if (!isThere) faults.push(`${url}: ${link}`);
      }
    }
    assert.deepEqual(faults, []);
    assert.deepEqual(manifest.broken, [], 'links to files that are in no checkout');
  });

  it('name each other by titles, and not by files of a checkout', () => {
    for (const { url, html } of pages.values()) {
      for (const [, path, text] of html.matchAll(/<a href="(\/docs[^"#]*)[^>]*>([A-Z-]+)<\/a>/g))
        if (Object.hasOwn(manifest.pages, path!))
          assert.notEqual(`${text}.md`, basename(manifest.pages[path!]!.markdown), `${url}: ${text}`);
    }
    assert.ok(pages.get('/docs/feed')!.html.includes('<a href="/docs/nodes">Many nodes</a>'));
  });

  it('have the names of the server in every command, and no mark left', () => {
    for (const { url, html } of pages.values()) {
      assert.equal(hasMarks(html), false, url);
      const code = [...html.matchAll(/<code[^>]*>([\s\S]*?)<\/code>/g)].map(([, text]) => text!);
      for (const text of code) assert.equal(marked(text), text, url);
    }
    assert.ok(pages.get('/docs/protocol')!.html.includes('dig @192.0.2.7 TXT get.'));
  });

  it('have no mark in Markdown either, nor in the list for programs, which names each', async () => {
    const list = await textAt('/llms.txt');
    for (const url of Object.keys(manifest.pages)) {
      const source = url === '/docs' ? '/docs/index.md' : `${url}.md`;
      assert.equal(hasMarks(await textAt(source)), false, source);
      assert.ok(list.includes(`(https://api.example.com${source})`), source);
    }
    assert.equal(hasMarks(list), false);
  });

  it('have no script, style or handler of their own, and no element that is not expected', () => {
    for (const { url, html } of pages.values()) {
      for (const [, end, name, rest] of html.matchAll(/<(\/?)([a-z][\w-]*)((?:\s[^<>]*)?)>/gi)) {
        assert.ok(ELEMENTS.has(name!), `${url}: <${name}>`);
        if (end === '/') continue;
        for (const [, attribute] of rest!.matchAll(/\s([a-zA-Z-]+)(?:="[^"]*")?/g))
          assert.ok(ATTRIBUTES.has(attribute!), `${url}: <${name} ${attribute}>`);
        if (name === 'script') assert.match(rest!, /^ src="\/docs\/assets\/[\w.-]+"$/);
      }
      assert.doesNotMatch(html, /href="(?!https?:\/\/|\/|#)/, url);
      assert.equal(html.match(/<script[^>]*>/g)?.length, 1);
      assert.match(html, /<script [^>]+><\/script>/);
    }
  });

  it('have an index for the search and a script below their limits', () => {
    for (const [name, least, most] of [
      [/search-\w+\.json$/, 10, 60],
      [/documents-\w+\.js$/, 1, 4],
    ] as const) {
      const url = Object.keys(manifest.files).find((one) => name.test(one))!;
      const octets = gzipSync(readFileSync(join(ROOT, manifest.files[url]!)), { level: 9 }).length;
      assert.ok(octets >= least * KB && octets <= most * KB, `${url}: ${octets} octets`);
    }
  });

  it('are a folder for other servers too, with or without a server to lead to', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uqrp-site-'));
    const run = (...options: string[]): string => {
      execFileSync(process.execPath, ['scripts/docs-site.ts', folder, ...options], {
        cwd: ROOT,
        stdio: 'ignore',
      });
      return readFileSync(join(folder, 'docs/protocol/index.html'), 'utf8');
    };
    try {
      const alone = run();
      assert.ok(alone.includes('dig @127.0.0.1 -p 5300 TXT get.'));
      assert.doesNotMatch(alone, /href="\/(?:sign-in|services|playground|api)?"/);
      const served = run(
        '--origin',
        'https://api.example.com',
        '--zone',
        'example.com',
        '--dns',
        'ns1.example.com:53',
      );
      assert.ok(served.includes('href="https://api.example.com/sign-in"'));
      assert.ok(served.includes('dig @ns1.example.com TXT get.'));
      for (const [, asset] of served.matchAll(
        /(?:href|src|srcset|data-search)="(\/(?:docs\/)?assets\/[^"]+)"/g,
      ))
        assert.ok(readFileSync(join(folder, asset!)).length > 0, asset!);
      for (const file of [
        'llms.txt',
        '404.html',
        'index.html',
        'docs/api.md',
        'docs/files/screens/overview.png',
      ])
        assert.ok(readFileSync(join(folder, file)).length > 0, file);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function pageOf(url: string, html: string): BuiltPage {
  return {
    url,
    html,
    ids: new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)),
    links: [...html.matchAll(/ (?:href|src|data-search)="([^"]*)"/g)].map(([, link]) =>
      link!.replaceAll('&amp;', '&'),
    ),
  };
}
