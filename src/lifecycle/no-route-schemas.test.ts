import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { it } from 'node:test';
import fastify from 'fastify';
import { NO_ROUTE_SCHEMAS } from './no-route-schemas.ts';

const hasAjv = (): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('/node_modules/ajv/'));

it('a server without route schemas loads no Ajv, and refuses a route with one', async () => {
  const app = fastify({ schemaController: NO_ROUTE_SCHEMAS });
  app.get('/', async () => ({}));
  await app.ready();
  await app.close();
  assert.equal(hasAjv(), false);

  const wrong = fastify({ schemaController: NO_ROUTE_SCHEMAS });
  wrong.post('/', { schema: { body: { type: 'object' } } }, async () => ({}));
  await assert.rejects(async () => wrong.ready(), /no schema compilers/);

  fastify();
  assert.equal(hasAjv(), true, 'the default compilers are Ajv');
});
