/**
 * `npm run docs`: writes documents, and parts of documents, that are made from the code. With `-- --released` also docs/openapi/released.json.gz, the
 * API document that later ones must stay compatible with: once for each release.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { LIMITS } from '../src/base/limits.ts';
import { factsOf } from '../src/cli/completion/tree.ts';
import { buildProgram } from '../src/cli/program.ts';
import { ENVIRONMENT } from '../src/ops/config/env.ts';
import { releaseVersion } from '../src/ops/config/version.ts';
import type { Service } from '../src/services/service.ts';
import { documentText, publishedDocument } from '../test/support/http/openapi/published.ts';
import { allServices } from '../test/support/services/all-services.ts';
import { manualPage, type Setting } from './manual-page.ts';

const ROOT = new URL('../', import.meta.url);
const MANUAL = 'man/uqrp.1';
const SETTINGS = 'docs/operations/settings.md';
const LIMITS_PAGE = 'docs/operations/limits.md';

/** Pages of docs/services with their titles and services; the last one has all others. */
const SERVICE_PAGES: Readonly<Record<string, readonly [title: string, ...resources: string[]]>> = {
  'data.md': [
    'Services with third-party data',
    ...['weather', 'forecast', 'stock', 'forex', 'crypto', 'geoip', 'btc'],
  ],
  'time-and-place.md': ['Services of time and place', ...['units', 'sun', 'moon', 'time', 'epoch', 'aerial']],
  'numbers.md': ['Services of numbers, words and chance'],
};

/** @returns texts as they should be, by their path in the checkout */
export async function documents(): Promise<ReadonlyMap<string, string>> {
  const services = allServices();
  const placed = Object.values(SERVICE_PAGES).flatMap(([, ...resources]) => resources);
  const others = services.map(({ resource }) => resource).filter((resource) => !placed.includes(resource));
  const pages = Object.entries(SERVICE_PAGES).map(([name, [title, ...resources]]): [string, string] => [
    `docs/services/${name}`,
    servicesPage(
      title,
      (resources.length === 0 ? others : resources).map(
        (one) => services.find(({ resource }) => resource === one)!,
      ),
    ),
  ]);
  return new Map([
    [MANUAL, currentManual()],
    ['docs/openapi.json', documentText(await publishedDocument())],
    [SETTINGS, withTable(textOf(SETTINGS), 'environment', variablesTable())],
    [LIMITS_PAGE, limitsPage(textOf(LIMITS_PAGE))],
    ...pages,
  ]);
}

export function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The date of the manual page changes only with its content. */
function currentManual(): string {
  const program = buildProgram({
    clock: Date.now,
    takeSignals: () => {
      throw new Error('no command runs here');
    },
  });
  const made = (date: string): string =>
    manualPage({ tree: factsOf(program), settings: variables(), version: releaseVersion(), date });
  const present = textOf(MANUAL);
  const same = made(/^\.TH UQRP 1 "([\d-]+)"/.exec(present)?.[1] ?? '');
  return present === same ? same : made(new Date().toISOString().slice(0, 10));
}

function variables(): Setting[] {
  return Object.entries(ENVIRONMENT).map(([name, row]) => ({
    name,
    standard: 'shown' in row ? row.shown : row.fallback,
    meaning: row.meaning,
  }));
}

function variablesTable(): string {
  return table(
    ['Name', 'Default', 'Meaning'],
    variables().map(({ name, standard, meaning }) => [name, standard ?? '', meaning]),
  );
}

/** What a limit means is written in the page; a new one gets an empty cell to fill. */
function limitsPage(page: string): string {
  const meanings = new Map(
    [...page.matchAll(/^\| (\w+) \| [\d,]+ \| (.*) \|$/gm)].map(([, name, text]) => [name, text]),
  );
  const rows = Object.entries(LIMITS).map(([name, value]) => [
    name,
    value.toLocaleString('en-US'),
    meanings.get(name) ?? '',
  ]);
  return withTable(page, 'limits', table(['Name', 'Value', 'Meaning'], rows));
}

function withTable(page: string, mark: string, rows: string): string {
  return page.replace(
    new RegExp(`(<!-- ${mark} -->\n\n)[^]*?(\n\n<!-- end -->)`),
    (_, before: string, after: string) => `${before}${rows}${after}`,
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

function servicesPage(title: string, services: readonly Service[]): string {
  return `# ${title}\n\n[Public services](../SERVICES.md) has what all have in common: how to ask, errors, how long an answer is kept.\n\n${services.map(section).join('\n')}`;
}

function section({ resource, about }: Service): string {
  const { schema, template, placeholders, examples, exampleResponse, ttl, errors, meanings = [] } = about;
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties).map(([name, { type, description, enum: values }]) => [
    code(name),
    type,
    required.has(name) ? '' : 'where known',
    `${description}${values === undefined ? '' : `: ${values.map((value) => code(String(value))).join(', ')}`}`,
  ]);
  const names = Object.entries(placeholders).map(
    ([name, { type, examples: some }]) => `- \`{${name}}\`, ${type}: ${some.map(code).join(', ')}`,
  );
  const faults = errors.map(({ code: error, description }) => `- ${error}: ${description}`).join('\n');
  const words = meanings.map(
    ({ fields: of, values }) =>
      `\n${of.map(code).join(', ')}: ${values
        .map(([value, meaning]) => `${code(value)} ${meaning}`)
        .join(', ')}\n`,
  );
  return `## ${resource}

${schema.title}. ${schema.description}

\`${template}\`, TTL at most ${ttl} seconds

${[...names, `- try: ${examples.map(code).join(', ')}`].join('\n')}

\`\`\`
${exampleResponse}
\`\`\`

${table(['field', 'type', '', ''], fields)}
${words.join('')}${faults === '' ? '' : `\n${faults}\n`}`;
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) {
  const made = await documents();
  for (const [path, text] of made) writeFileSync(new URL(path, ROOT), text);
  if (process.argv.includes('--released')) {
    const released = new URL('docs/openapi/released.json.gz', ROOT);
    writeFileSync(released, gzipSync(made.get('docs/openapi.json')!, { level: 9 }));
  }
}
