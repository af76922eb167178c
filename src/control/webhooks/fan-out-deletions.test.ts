import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENGINES } from '../../../test/support/control/webhooks/dispatch-world.ts';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { fillNamespace, testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import * as world from '../../../test/support/store/fan-out-world.ts';
import { type Home, withStore } from '../../../test/support/store/fixtures.ts';
import { insertRows } from '../../../test/support/store/rows.ts';
import { AppError } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { deleteClosed, deleteNamespace } from '../namespaces/deletion.ts';
import { createRecord } from '../records/rules.ts';
import { eventOf } from './events.ts';
import { startFanOut } from './fan-out.ts';
import { cleanUp } from './loops.ts';
import { deleteWebhook } from './rules.ts';

/** More than the closing unit deletes, so that the deletion takes several units. */
const OLD_RECORDS = 600;
const WRITERS = 4;
const WRITES = 40;

/** Another namespace of the same customer. */
async function addNamespace(store: Store, { customerId }: Home, namespace: string): Promise<Home> {
  const namespaceId = crypto.randomUUID();
  const row = {
    id: namespaceId,
    name: namespace,
    customer_id: customerId,
    public_read: 1,
    suspended: 0,
  } as const;
  const times = { records_count: 0, created_at: 1, updated_at: 2 };
  await store.write((tx) => insertRows(tx, 'namespaces', { ...row, ...times }));
  return { customerId, namespaceId, namespace };
}

for (const { name, create, skip } of ENGINES) {
  describe(`fan-out during deletions on ${name}`, { skip }, () => {
    it('enqueues each event of an accepted write once, while a namespace and a webhook are deleted', () =>
      withStore(create, async (store, open) => {
        const home = await world.settlePaying(store, 'acme');
        const doomed = await addNamespace(store, home, 'doomed');
        const kept = await world.addHook(store, home);
        const deleted = await world.addHook(store, home);
        await fillNamespace(store, doomed, OLD_RECORDS);
        const deps = testDeps(store, Date.now);
        // The deletion of a webhook reads its session.
        const actor = { ...testActor(home), sessionId: null };
        const ending = new AbortController();
        const { signal } = ending;
        const errors: unknown[] = [];
        const loops = [store, store, await open()].map((one) =>
          startFanOut({
            store: one,
            clock: Date.now,
            newId: () => crypto.randomUUID(),
            signal,
            wake: () => {},
            onError: (error) => errors.push(error),
            limits: { waiting: 100_000 },
            pollMs: 20,
          }),
        );
        const accepted: string[] = [];
        const refused: string[] = [];
        const write = async (namespace: string, params: string): Promise<void> => {
          const key = `${params}.doc.${namespace}.v1`;
          const body = { key, data: Buffer.from(params).toString('base64') };
          try {
            await createRecord(deps, actor, body);
            accepted.push(key);
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
            refused.push(key);
          }
        };
        const writers = Array.from({ length: WRITERS }, async (_, writer) => {
          for (let n = 0; n < WRITES; n++) await write(n % 2 === 0 ? 'acme' : 'doomed', `w${writer}-${n}`);
        });
        const deletions = (async () => {
          while (accepted.length < (WRITERS * WRITES) / 4) await sleep(1);
          await Promise.all([
            deleteNamespace(deps, actor, doomed.namespaceId),
            deleteWebhook(deps, actor, deleted),
          ]);
          await Promise.all([deleteClosed({ store, clock: Date.now, signal }), cleanUp(store, signal)]);
        })();
        await Promise.all([...writers, deletions]);
        const { head } = await store.changes.bounds();
        while ((await world.cursorOf(store)).seq < head) await sleep(5);
        ending.abort();
        await Promise.all(loops);
        assert.deepEqual(errors, []);

        const events = (await changesAfter(store.changes, 0, 10_000)).flatMap(
          (change) => eventOf(change) ?? [],
        );
        const expected = events.map(({ event, data }, place) => {
          const subject = 'key' in data ? data.key : 'name' in data ? data.name : data.namespace;
          return `${place + 1} ${event} ${subject}`;
        });
        assert.deepEqual(await world.toldOf(store, kept), expected);
        const told = (event: string): string[] =>
          events.flatMap((one) => (one.event === event && 'key' in one.data ? [one.data.key] : []));
        const old = Array.from({ length: OLD_RECORDS }, (_, n) => `k${n}.doc.doomed.v1`);
        assert.deepEqual(told('record.upserted').toSorted(), [...old, ...accepted].toSorted());
        const gone = [...old, ...accepted].filter((key) => key.endsWith('.doc.doomed.v1'));
        assert.deepEqual(told('record.deleted').toSorted(), gone.toSorted());
        assert.ok(
          refused.length > 0 && refused.every((key) => key.endsWith('.doomed.v1')),
          String(refused.length),
        );
        assert.deepEqual(await world.deliveriesOf(store, deleted), []);
      }));
  });
}
