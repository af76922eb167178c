/**
 * Writes the documents as a folder for any web server, with the names of a server of yours in the commands..
 *
 *   npm run docs:site -- FOLDER
 *   npm run docs:site -- FOLDER --origin https://api.example.com --zone example.com --dns ns1.example.com:53 --doh 443
 *
 * Without --origin the pages have no links to a server: sign-in, playground, services.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type DocumentsManifest, openDocuments } from '../src/http/pages/documents.ts';
import { DEFAULT_NAMES, type ServerNames } from '../src/http/pages/fill.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dashboard/dist');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    origin: { type: 'string' },
    zone: { type: 'string' },
    dns: { type: 'string' },
    doh: { type: 'string' },
  },
});
const [target] = positionals;
if (target === undefined || positionals.length > 1)
  throw new Error(
    'Usage: npm run docs:site -- FOLDER [--origin URL] [--zone ZONE] [--dns HOST:PORT] [--doh PORT]',
  );
const documents = openDocuments(ROOT, () => namesOf(values));
if (documents === null) throw new Error('The documents are not built: run `npm run build`.');
const manifest = JSON.parse(readFileSync(join(DIST, 'docs/manifest.json'), 'utf8')) as DocumentsManifest;

function namesOf({ origin, zone, dns, doh }: typeof values): ServerNames {
  const [, host, port] = /^(.+):(\d+)$/.exec(dns ?? '') ?? [];
  if (dns !== undefined && host === undefined) throw new Error(`--dns ${dns} is not HOST:PORT`);
  const own = DEFAULT_NAMES.dns!;
  return {
    ...DEFAULT_NAMES,
    zone: zone ?? DEFAULT_NAMES.zone,
    origin: origin === undefined ? DEFAULT_NAMES.origin : new URL(origin).origin,
    dns: { ...own, host: host ?? own.host, dns: Number(port ?? own.dns), doh: Number(doh ?? own.doh) },
  };
}

async function octetsOf(path: string): Promise<Buffer> {
  const found = await documents!.find(path);
  if (found === null || found.status === 302) throw new Error(`no document at ${path}`);
  return found.file.octets('identity');
}

function write(path: string, content: string | Buffer): void {
  const file = join(target!, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Links of the header lead to the server, or are left out. */
function withServer(html: string): string {
  const { origin } = values;
  const base = origin === undefined ? null : new URL(origin).origin;
  return html
    .replace('<a class="brand" href="/">', `<a class="brand" href="${base === null ? '/docs' : `${base}/`}">`)
    .replaceAll(
      /<a [^>]*href="(\/(?:services|playground|api|sign-in))"[^>]*>[^<]*<\/a>\n/g,
      (link, path: string) => (base === null ? '' : link.replace(`href="${path}"`, `href="${base}${path}"`)),
    );
}

for (const url of Object.keys(manifest.pages)) {
  write(`${url}/index.html`, withServer((await octetsOf(url)).toString()));
  const source = url === '/docs' ? '/docs/index.md' : `${url}.md`;
  write(source, await octetsOf(source));
}
for (const url of Object.keys(manifest.files)) write(url, await octetsOf(url));
write('404.html', withServer((await octetsOf('/docs/there-is-no-such-page')).toString()));
write('llms.txt', await octetsOf('/llms.txt'));
write(
  'index.html',
  '<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url=/docs/">\n<title>uqrp</title>\n',
);
mkdirSync(join(target, 'assets'), { recursive: true });
const shared = readdirSync(join(DIST, 'assets')).filter((name) => /\.(?:css|svg|woff2)$/.test(name));
for (const name of shared) copyFileSync(join(DIST, 'assets', name), join(target, 'assets', name));
process.stdout.write(`${Object.keys(manifest.pages).length} pages in ${target}\n`);
