import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';
import fastify from 'fastify';
import { NO_ROUTE_SCHEMAS } from './http.ts';

/** Starts a server with and one without the option, and prints whether Ajv is loaded after each. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import fastify from '${import.meta.resolve('fastify')}';
  import { NO_ROUTE_SCHEMAS } from '${new URL('http.ts', import.meta.url).href}';
  const hasAjv = () =>
    Object.keys(createRequire('${import.meta.url}').cache).some((path) => path.includes('/node_modules/ajv/'));
  const app = fastify({ schemaController: NO_ROUTE_SCHEMAS });
  app.get('/', async () => ({}));
  await app.ready();
  await app.close();
  const without = hasAjv();
  fastify();
  console.log(without, hasAjv());
`;

// In a process of its own: other tests of this one may have loaded Ajv (finding 14 of the review of the tests).
it('a server without route schemas loads no Ajv; the default compilers are Ajv', () => {
  const args = ['--input-type=module', '-e', PROGRAM];
  assert.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), 'false true\n');
});

it('a server without route schemas refuses a route with one', async () => {
  const wrong = fastify({ schemaController: NO_ROUTE_SCHEMAS });
  wrong.post('/', { schema: { body: { type: 'object' } } }, async () => ({}));
  await assert.rejects(async () => wrong.ready(), /no schema compilers/);
});
