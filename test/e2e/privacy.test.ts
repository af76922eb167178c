import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCli, settingsFor } from '../support/command.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually, getHttps, read } from './client.ts';

/** Texts that only answers may contain: a record's name and payload, a customer's address, tokens, endpoints. */
const NAME = 'zebrakey';
const PAYLOAD = 'giraffepayload';
const EMAIL = 'ostrich@example.net';

describe('nothing private leaks', () => {
  let server: Uqrp;
  let printed = '';
  const secrets: string[] = [NAME, 'zebraspace', PAYLOAD, Buffer.from(PAYLOAD).toString('base64'), 'ostrich'];

  before(async () => {
    // No name server listens here.
    server = await startUqrp({ UQRP_RESOLVERS: '127.0.0.1:9' });
    for (const stream of [server.child.stdout, server.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
      });
    }
    const customer = account(server, EMAIL);
    const { body } = await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
    const { id } = body as { id: string };
    const minted = await customer.call('POST', `/namespaces/${id}/query_tokens`, { name: 'x' });
    const { token } = minted.body as { token: string };
    const key = await customer.call('POST', '/api_keys', { api_key: { name: 'x' } });
    secrets.push(token, customer.token, (key.body as { token: string }).token);
    const record = { key: `${NAME}.zebraspace.v1`, data: Buffer.from(PAYLOAD).toString('base64') };
    await customer.call('POST', '/records', { record });
    const name = `get.auth-${token}.${NAME}.zebraspace.v1`;
    await eventually(async () => (await read(server, name)).payload === PAYLOAD);

    const url = 'https://walrushost.example.com/walruspath?walrus=1';
    const webhook = { name: 'walrusname', url, events: ['record.upserted', 'namespace.upserted'] };
    const hook = (await customer.call('POST', '/webhooks', { webhook })).body as Record<string, string>;
    secrets.push('walrus', hook.secret!, hook.signing_secret!);
    await customer.call('POST', '/namespaces', { namespace: { name: 'walrusspace' } });
    await customer.call('POST', `/webhooks/${hook.id}/test`);
    await customer.call('POST', '/webhooks', { webhook: { ...webhook, url: 'https://10.0.0.1/walrus' } });
    // The name cannot be resolved here, so the attempt fails.
    await eventually(async () => {
      const { body } = await customer.call('GET', `/webhooks/${hook.id}/deliveries`);
      const { deliveries } = body as { deliveries: { event: string; error: string | null }[] };
      return deliveries.some(({ event, error }) => event !== 'webhook.test' && error === 'dns_failure');
    });

    // Failing requests, each with a private text.
    await customer.call('POST', '/records', { record: { ...record, [PAYLOAD]: 1 } });
    await customer.call('GET', `/records/${NAME}?x=${PAYLOAD}`);
    await customer.call('GET', `/${NAME}/${token}`);
    await fetch(`${customer.base}/records`, { headers: { authorization: `Bearer ${token}` } });
    await fetch(`${customer.base}/records`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
      body: `{"record": "${PAYLOAD}`,
    });
    for (const transport of ['udp', 'tcp', 'doh'] as const) {
      await read(server, `put.auth-${token}.${NAME}.zebraspace.v1`, transport);
      await read(server, `get.${NAME}.zebraspace.v1`, transport);
    }
    await getHttps(server, `/resolve?name=${name}.uqrp.net&type=${PAYLOAD}`);
    await getHttps(server, `/dns-query?dns=${token}`);
    await getHttps(server, `/${NAME}`);
    await garbage(server.ports.dns, `\x00\x40${NAME}`);
    await garbage(server.ports.http, `${NAME} ${token}\r\n\r\n`);
  });
  after(() => server.remove());

  it('in the metrics', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${server.ports.http}/metrics`)).text();
    assert.match(metrics, /uqrp_dns_replies_total/);
    assert.match(metrics, /uqrp_webhook_attempts_total\{error="dns_failure"\}/);
    for (const secret of secrets) assert.ok(!metrics.includes(secret), 'a metric holds something private');
  });

  it('in what doctor prints, the secret of the server and the password of the database included', async () => {
    secrets.push(readFileSync(join(server.dataDir, 'secret'), 'utf8').trim());
    const env = { ...settingsFor(server.dataDir), UQRP_RESOLVERS: '127.0.0.1:9' };
    const asked = await runCli(['doctor', '--json'], env);
    assert.match(asked.out, /"check":"database","state":"ok"/);
    const failed = await runCli(['doctor'], {
      ...env,
      UQRP_DATABASE_URL: 'postgres://user:zebrapassword@127.0.0.1:1/uqrp',
      UQRP_SECRET: 'zebrasecret of more than 32 characters',
    });
    assert.match(failed.out, /database +wrong +UQRP_DATABASE_URL: /);
    for (const secret of [...secrets, 'zebrapassword', 'zebrasecret']) {
      for (const { out, errors } of [asked, failed]) {
        assert.ok(!`${out}${errors}`.includes(secret), 'a finding holds something private');
      }
    }
  });

  it('in what the process prints', async () => {
    await server.stop();
    assert.match(printed, /server.stopped/);
    for (const secret of secrets) assert.ok(!printed.includes(secret), 'a line holds something private');
  });
});

async function garbage(port: number, text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(text, 'latin1'));
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
    socket.resume();
  });
}
