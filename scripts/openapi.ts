/**
 * Writes docs/openapi.json from the routes of the API. With `--released` it writes docs/openapi/released.json too: the
 * document of the last release, which later documents must stay compatible with.
 */
import { writeFileSync } from 'node:fs';
import { documentText, publishedDocument } from '../test/support/http/openapi/published.ts';

const text = documentText(await publishedDocument());
writeFileSync(new URL('../docs/openapi.json', import.meta.url), text);
if (process.argv.includes('--released')) {
  writeFileSync(new URL('../docs/openapi/released.json', import.meta.url), text);
}
