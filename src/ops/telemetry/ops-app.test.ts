import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createOpsApp } from './ops-routes.ts';

it('a server of health routes alone has the times of the REST API and no room for bodies', async () => {
  const app = createOpsApp();
  const { server, initialConfig } = app;
  assert.equal(server.headersTimeout, 10_000);
  assert.equal(server.requestTimeout, 30_000);
  assert.equal(server.keepAliveTimeout, 72_000);
  assert.equal(server.timeout, 120_000);
  assert.equal(initialConfig.bodyLimit, 1024);
  await app.close();
});
