/** `/llms.txt` (https://llmstxt.org): the documents for programs that read text. */

import { marked } from '../../src/http/pages/fill.ts';
import { type Group, nameInIndex, type Source } from './pages.ts';

export function llmsText(groups: readonly Group[], summaries: ReadonlyMap<Source, string>): string {
  const lists = groups.map(({ name, pages }) => {
    const lines = pages.map((page) => {
      const summary = (summaries.get(page) ?? '').split(/(?<=[.:])\s/, 1)[0]!.replace(/:$/, '');
      return `- [${nameInIndex(page)}](${marked('http://localhost:8080')}${page.url === '/docs' ? '/docs/index' : page.url}.md)${summary === '' ? '' : `: ${summary}`}`;
    });
    return `## ${name}\n\n${lines.join('\n')}\n`;
  });
  return `# uqrp

> Store small records over REST. Read them anywhere over DNS.

The REST API is at ${marked('http://localhost:8080')}/api/v1, and its OpenAPI description at ${marked('http://localhost:8080')}/api/v1/openapi.json.
Names end in ${marked('uqrp.net')}. Ask them with \`dig ${marked('@127.0.0.1 -p 5300')} +short TXT NAME\`.

${lists.join('\n')}`;
}
