import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type TestServer, testServer } from '../../test/support/sdk/server.ts';
import { Reader } from './dns/reader.ts';
import type { QueryLogEvent, QueryLogRow } from './rest/query-logs.ts';
import type { ExportedRecord } from './rest/resources.ts';
import type { Uqrp } from './rest/uqrp.ts';

const NAMESPACE = 'telemetry-tests';
/** Rows and counts are visible some time after their queries. */
const PATIENCE_MS = 20_000;

describe('telemetry of a server', () => {
  let server: TestServer;
  let uqrp: Uqrp;
  let namespaceId: string;
  let reader: Reader;

  before(async () => {
    server = await testServer();
    uqrp = await server.signIn('telemetry@example.net');
    namespaceId = (await uqrp.namespaces.create(NAMESPACE)).id;
    const { token } = await uqrp.queryTokens.mint(namespaceId, { name: 'reader' });
    reader = new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token });
    await uqrp.records.bulk({
      put: [
        { key: `a.log.${NAMESPACE}.v1`, text: 'first' },
        { key: `b.log.${NAMESPACE}.v1`, json: { n: 2 }, ttl_seconds: 60 },
      ],
    });
    await visible();
  });

  /** Reads until the node has the record and the token. */
  const visible = (): Promise<unknown> =>
    eventually(() =>
      reader.text(`b.log.${NAMESPACE}.v1`).then(
        () => true,
        () => false,
      ),
    );

  it('meta says what the server offers, without a credential', async () => {
    const meta = await server.customer.meta();
    assert.deepEqual(meta.zones, ['uqrp.net']);
    assert.equal(meta.features.organizations, true);
    assert.equal(meta.endpoints.rest, server.base);
    assert.equal(meta.endpoints.dns?.port, server.ports.dns);
    assert.deepEqual(meta.webhook_events, await uqrp.webhooks.events());
    assert.equal(meta.content_formats['application/json'], 'json');
  });

  it('usage counts what is there, and the private reads', async () => {
    const { records, namespaces, metered, tier } = await uqrp.usage();
    assert.deepEqual([records.used, namespaces.used, tier], [2, 1, 'free']);
    assert.equal(metered.estimated, true);
    await eventually(async () => {
      const { total_authenticated_queries: total, by_namespace: counts } = (await uqrp.usage()).metered;
      return total > 0 && counts[0]?.name === NAMESPACE && counts[0].count === total;
    });
  });

  it('the audit log is listed in pages and exported whole', async () => {
    const listing = uqrp.audit.list({ since: new Date(0) }, { limit: 2 });
    const rows = await listing.toArray();
    const actions = ['record.bulk', 'query_token.minted', 'namespace.created', 'sign_in.done'];
    assert.deepEqual(rows.map(({ action }) => action).slice(-actions.length), actions);
    const [bulk] = await uqrp.audit.list({ action: 'record.*', namespace: NAMESPACE }).toArray();
    assert.deepEqual([bulk?.object.count, bulk?.actor.name], [2, 'telemetry@example.net']);
    const ids: string[] = [];
    for await (const { id } of uqrp.audit.export()) ids.push(id);
    assert.deepEqual(
      ids,
      rows.map(({ id }) => id),
    );
    await assert.rejects(uqrp.audit.list({ action: 'nothing' }).page(), { status: 400 });
  });

  it('query logs are listed in pages, with filters', async () => {
    for (let n = 0; n < 3; n += 1) await reader.text(`a.log.${NAMESPACE}.v1`);
    await eventually(async () => {
      const { meta } = await uqrp.queryLogs.list({ status: 'hit' }).page();
      return meta.total >= 4;
    });
    const listing = uqrp.queryLogs.list({ namespace: NAMESPACE, status: 'hit' }, { limit: 2 });
    const pages: (readonly QueryLogRow[])[] = [];
    for await (const page of listing.pages()) pages.push(page.items);
    assert.ok(pages.length >= 2 && pages.slice(0, -1).every((items) => items.length === 2));
    const ids = pages.flat().map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(
      (await listing.toArray(3)).map(({ id }) => id),
      ids.slice(0, 3),
    );
    assert.ok(pages.flat().every((row) => row.resource === 'log' && row.transport === 'udp'));
    assert.deepEqual(await uqrp.queryLogs.list({ until: new Date(0) }).toArray(), []);
    await assert.rejects(uqrp.queryLogs.list({ status: 'x' as never }).page(), { status: 400 });
    await assert.rejects(uqrp.queryLogs.list({}, { limit: 101 }).page(), { status: 400 });
  });

  it('the stream sends rows as they come, and goes on after the last one that was read', async () => {
    const ending = new AbortController();
    const { signal } = ending;
    const stream = uqrp.queryLogs.stream({ namespace: NAMESPACE, status: 'hit' }, { signal });
    const first = await whileReading(stream.next());
    assert.equal(first?.kind, 'row');
    await stream.return();
    // It came while nobody listened.
    await reader.text(`b.log.${NAMESPACE}.v1`);
    const after = first?.kind === 'row' ? first.row.id : '';
    const again = uqrp.queryLogs.stream({ namespace: NAMESPACE }, { signal, after });
    const next = await whileReading(again.next());
    assert.ok(next?.kind === 'row' && BigInt(next.row.id) > BigInt(after));
    const pending = again.next();
    void again.next().catch(() => undefined);
    ending.abort(new Error('enough'));
    await assert.rejects(
      async () => {
        for (let event = await pending; event.done !== true; event = await again.next());
      },
      { message: 'enough' },
    );
  });

  it('the stream ends with its session', async () => {
    const other = await server.signIn('telemetry@example.net');
    const stream = other.queryLogs.stream({ namespace: NAMESPACE });
    await whileReading(stream.next());
    await other.auth.signOut();
    await assert.rejects(
      async () => {
        for await (const _ of stream);
      },
      { status: 401, code: 'authentication_error' },
    );
  });

  it('an export has every record of the namespace', async () => {
    const records: ExportedRecord[] = [];
    for await (const record of uqrp.namespaces.export(namespaceId)) records.push(record);
    assert.deepEqual(
      records.map(({ key, content_type, ttl_seconds }) => [key, content_type, ttl_seconds]),
      [
        [`a.log.${NAMESPACE}.v1`, 'text/plain', 300],
        [`b.log.${NAMESPACE}.v1`, 'application/json', 60],
      ],
    );
    const stranger = await server.signIn('stranger@example.net');
    await assert.rejects(stranger.namespaces.export(namespaceId).next(), { code: 'not_found' });
  });

  /** Asks over DNS until the stream has sent an event. */
  async function whileReading(
    event: Promise<IteratorResult<QueryLogEvent, void>>,
  ): Promise<QueryLogEvent | undefined> {
    let found: QueryLogEvent | null | undefined = null;
    const done = event.then(({ value }) => {
      found = value ?? undefined;
    });
    await eventually(async () => {
      await reader.text(`a.log.${NAMESPACE}.v1`);
      await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 20))]);
      return found !== null;
    });
    return found ?? undefined;
  }
});

async function eventually(check: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (!(await check())) {
    if (Date.now() > until) throw new Error('not within the time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
