import assert from 'node:assert/strict';
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { filesOf } from '../support/files-of.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

/** Long enough to span more than one page of a file. */
const payload = (word: string): string => `${word} `.repeat(150);
const base64 = (word: string): string => Buffer.from(payload(word)).toString('base64');

describe('payloads that were replaced or deleted', () => {
  let server: Uqrp;
  before(async () => {
    server = await startUqrp();
  });
  after(() => server.remove());

  it('are gone from database file, write-ahead log and view on a running server, and present ones stay', async () => {
    const customer = account(server, 'eraser@example.net');
    const created = await customer.call('POST', '/namespaces', { namespace: { name: 'erasure' } });
    const doomed = await customer.call('POST', '/namespaces', { namespace: { name: 'doomed' } });
    const put = async (key: string, word: string): Promise<string> => {
      const { body } = await customer.call('POST', '/records', { record: { key, data: base64(word) } });
      return (body as { id: string }).id;
    };
    assert.equal(created.status, 201);
    const patched = await put('patched.erasure.v1', 'oldpatchword');
    await customer.call('PATCH', `/records/${patched}`, { record: { data: base64('newpatchword') } });
    await put('bulk.erasure.v1', 'oldbulkword');
    const records = [{ key: 'bulk.erasure.v1', data: base64('newbulkword') }];
    await customer.call('POST', '/records/bulk', { records });
    const deleted = await put('deleted.erasure.v1', 'deletedword');
    await customer.call('DELETE', `/records/${deleted}`);
    await put('cascade.doomed.v1', 'cascadeword');
    await customer.call('DELETE', `/namespaces/${(doomed.body as { id: string }).id}`);

    const found = (word: string): boolean => filesOf(server.dataDir).some((text) => text.includes(word));
    const old = ['oldpatchword', 'oldbulkword', 'deletedword', 'cascadeword'];
    await eventually(async () => !old.some(found));
    assert.deepEqual(['newpatchword', 'newbulkword'].map(found), [true, true]);
  });

  it('are gone from the view of a role that the server has no more (a view that nobody followed kept them)', async () => {
    const customer = account(server, 'roles@example.net');
    await customer.call('POST', '/namespaces', { namespace: { name: 'roles' } });
    const record = { key: 'former.roles.v1', data: base64('formerroleword') };
    const { body } = await customer.call('POST', '/records', { record });
    const found = (): boolean => filesOf(server.dataDir).some((text) => text.includes('formerroleword'));
    const isInView = (): boolean =>
      filesOf(join(server.dataDir, 'view')).some((text) => text.includes('formerroleword'));
    await eventually(async () => isInView());
    await server.stop();
    server = await startUqrp({ UQRP_ROLE: 'control' }, server.dataDir);
    const later = customer.at(`http://127.0.0.1:${server.ports.http}/api/v1`);
    assert.equal((await later.call('DELETE', `/records/${(body as { id: string }).id}`)).status, 204);
    await eventually(async () => !found());
  });

  it('and drafts with secrets or keys, which a kill has left, are gone after a start, and no other file is', async () => {
    await server.stop();
    const old = [
      'secret.draft-0123456789ab',
      'serve.pid.draft-d123456789ab',
      'keys/uqrp.net.json.draft-0123456789ab',
    ];
    const kept = ['secret.0123456789ab', 'secret.draft-d123456789ab'];
    for (const name of [...old, ...kept]) writeFileSync(join(server.dataDir, name), 'key');
    for (const name of [...old, kept[0]!]) utimesSync(join(server.dataDir, name), 0, 0);
    server = await startUqrp({ UQRP_ROLE: 'control' }, server.dataDir);
    const left = [...old, ...kept].filter((name) => existsSync(join(server.dataDir, name)));
    assert.deepEqual(left, kept);
  });
});
