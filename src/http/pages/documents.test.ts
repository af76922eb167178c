import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { LIMITS } from '../../base/limits.ts';
import { type DocumentPages, type DocumentsManifest, openDocuments } from './documents.ts';
import { DEFAULT_NAMES, marked } from './fill.ts';

const NAMES = { ...DEFAULT_NAMES, zone: 'a&b.example' };
const MANIFEST: DocumentsManifest = {
  sources: '',
  pages: {
    '/docs': { html: 'index.html', markdown: 'README.md' },
    '/docs/api': { html: 'api.html', markdown: 'docs/API.md' },
  },
  files: {
    '/docs/files/one.png': 'docs/one.png',
    '/docs/files/large.txt': 'docs/large.txt',
    '/docs/assets/main-0123ABCD.js': 'dashboard/dist/docs/assets/main-0123ABCD.js',
  },
  missing: 'missing.html',
  broken: [],
};

describe('the documents', () => {
  let root: string;
  let documents: DocumentPages;

  const put = (path: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  const textAt = async (path: string): Promise<string> => {
    const found = await documents.find(path);
    assert.ok(found !== null && found.status !== 302, path);
    return (await found.file.octets('identity')).toString();
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'uqrp-documents-'));
    put('dashboard/dist/docs/manifest.json', JSON.stringify(MANIFEST));
    put('dashboard/dist/docs/index.html', '<p>first</p>');
    put('dashboard/dist/docs/api.html', `<code>${marked('get.uqrp.net')}</code>`);
    put('dashboard/dist/docs/missing.html', '<p>none</p>');
    put('dashboard/dist/docs/secret.html', 'not listed');
    put('dashboard/dist/docs/llms.txt', marked('uqrp.net'));
    put('dashboard/dist/docs/assets/main-0123ABCD.js', 'run()');
    put('docs/API.md', 'Ask `get.uqrp.net`.');
    put('docs/one.png', Buffer.from([0x89, 0x50]));
    documents = openDocuments(root, () => NAMES)!;
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  it('have a tag of their content', async () => {
    const tags = await Promise.all(
      ['/docs', '/docs/api', '/docs/api.md', '/docs/files/one.png'].map(async (path) => {
        const found = await documents.find(path);
        assert.ok(found !== null && found.status !== 302);
        return found.file.tag;
      }),
    );
    for (const tag of tags) assert.match(tag, /^"[\w-]{22}"$/);
    assert.equal(new Set(tags).size, tags.length);
  });

  it('have the names of this server, as HTML and as Markdown', async () => {
    assert.equal(await textAt('/docs/api'), '<code>get.a&amp;b.example</code>');
    assert.equal(await textAt('/docs/api.md'), 'Ask `get.a&b.example`.');
    assert.equal(await textAt('/llms.txt'), 'a&b.example');
  });

  it('are what the build lists, and nothing else', async () => {
    for (const path of [
      '/docs/none',
      '/docs/secret',
      '/docs/secret.html',
      '/docs/../package.json',
      '/docs/files/../../package.json',
      '/docs/__proto__',
      '/docs/constructor',
      '/docs/manifest.json',
    ]) {
      const found = await documents.find(path);
      assert.equal(found?.status, 404, path);
      assert.equal(await textAt(path), '<p>none</p>');
    }
    for (const path of ['/', '/docsx', '/api/v1', '/llms', ''])
      assert.equal(await documents.find(path), null, path);
  });

  it('are found under the names that files and links in other places have', async () => {
    for (const [path, to] of [
      ['/docs/', '/docs'],
      ['/docs/API', '/docs/api'],
      ['/docs/API.md', '/docs/api'],
      ['/docs/api/', '/docs/api'],
      ['/docs/README.md', '/docs'],
    ] as const)
      assert.deepEqual(await documents.find(path), { status: 302, to }, path);
    assert.equal((await documents.find('/docs//evil.example'))?.status, 404);
  });

  it('are compressed, and only files with a hash in their name may be kept', async () => {
    const page = await documents.find('/docs/api');
    const script = await documents.find('/docs/assets/main-0123ABCD.js');
    const picture = await documents.find('/docs/files/one.png');
    assert.ok(page?.status === 200 && script?.status === 200 && picture?.status === 200);
    assert.equal(brotliDecompressSync(await page.file.octets('br')).toString(), await textAt('/docs/api'));
    assert.equal(gunzipSync(await page.file.octets('gzip')).toString(), await textAt('/docs/api'));
    assert.deepEqual(
      [page, script, picture].map(({ file: { type, isImmutable, isCompressible } }) => [
        type,
        isImmutable,
        isCompressible,
      ]),
      [
        ['text/html; charset=utf-8', false, true],
        ['text/javascript; charset=utf-8', true, true],
        ['image/png', false, false],
      ],
    );
  });

  it('are read again after a fault of the disk', async () => {
    rmSync(join(root, 'docs/one.png'));
    await assert.rejects(documents.find('/docs/files/one.png'), /ENOENT/);
    put('docs/one.png', 'there');
    assert.equal(await textAt('/docs/files/one.png'), 'there');
  });

  it('hold at most the limit of octets: the one that was not asked for longest leaves', async () => {
    await textAt('/docs');
    await textAt('/docs/api');
    await textAt('/docs');
    const [first, second] = [await textAt('/docs'), await textAt('/docs/api')].map(({ length }) => length);
    await textAt('/docs');
    put('docs/large.txt', Buffer.alloc(LIMITS.documentOctets - first! - second!, 'a'));
    await textAt('/docs/files/large.txt');
    assert.equal(documents.heldOctets(), LIMITS.documentOctets);
    await textAt('/docs');
    put('docs/one.png', 'x');
    await textAt('/docs/files/one.png');
    // The page of the API left: it was the one that nobody asked for since.
    assert.equal(documents.heldOctets(), LIMITS.documentOctets - second! + 1);
  });

  it('are null when they are not built', () => {
    assert.equal(
      openDocuments(join(root, 'nothing'), () => NAMES),
      null,
    );
  });
});
