import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Fastify from 'fastify';
import { collectRoutes } from './document.ts';
import { describeRoutes, type Operation } from './operation.ts';

const operation: Operation = {
  operationId: 'getThing',
  summary: 'Reads a thing',
  tag: 'Service',
  auth: 'none',
  responses: { 204: { description: 'Nothing' } },
};

describe('the routes of the API', () => {
  it('are collected with their paths below the prefix, once for GET and HEAD', async () => {
    const app = Fastify();
    app.register(
      async (api) => {
        const routes = collectRoutes(api);
        api.get('/things/:id', describeRoutes('Service', 'none', { get: operation }).get, async () => null);
        assert.deepEqual(routes, [{ method: 'GET', path: '/things/:id', operation }]);
      },
      { prefix: '/api/v1' },
    );
    await app.ready();
    await app.close();
  });

  it('are refused at the start without a description', async () => {
    const app = Fastify();
    app.register(async (api) => {
      collectRoutes(api);
      api.post('/things', async () => null);
    });
    await assert.rejects(async () => app.ready(), /the route POST \/things has no description/);
  });
});
