/**
 * `npm run docs`: writes what documents print of the code. With `-- --released` also docs/openapi/released.json.gz, the API document that later
 * ones must stay compatible with: once for each release.
 */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { documents } from './documents.ts';

const made = await documents();
const at = (path: string): URL => new URL(`../${path}`, import.meta.url);
for (const [path, text] of made) writeFileSync(at(path), text);
if (process.argv.includes('--released')) {
  writeFileSync(at('docs/openapi/released.json.gz'), gzipSync(made.get('docs/openapi.json')!, { level: 9 }));
}
