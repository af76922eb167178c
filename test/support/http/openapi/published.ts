import { format } from 'node:util';
import { realRandom } from '../../../../src/base/chance.ts';
import { createApi } from '../../../../src/control/api.ts';
import type { ApiDeps } from '../../../../src/control/api-deps.ts';
import { plainJson } from '../../../../src/http/answers.ts';
import { unlimited } from '../../../../src/http/limiter.ts';
import { TEST_SERVICE } from '../server-parts.ts';
import type { OpenApi } from './document.ts';

/** The document of a server with every optional feature on, as docs/openapi.json has it. */
export async function publishedDocument(): Promise<OpenApi> {
  const deps = {
    organizations: true,
    random: realRandom,
    limiter: unlimited,
    sessions: { settle: async () => {} } as ApiDeps['sessions'],
    trustedProxies: [],
    service: TEST_SERVICE,
    publicUrl: () => 'http://localhost:8080',
    onError: (error) => process.stderr.write(`${format(error)}\n`),
  } satisfies Partial<ApiDeps>;
  // The route of the document reads nothing else.
  const app = createApi(deps as unknown as ApiDeps);
  try {
    return (await app.inject({ method: 'GET', url: '/api/v1/openapi.json' })).json();
  } finally {
    await app.close();
  }
}

export function documentText(document: OpenApi): string {
  return `${plainJson(document, 1)}\n`;
}
