import assert from 'node:assert/strict';
import { queryLogRow } from '../../../test/support/feed/ports/query-log-suite.ts';
import { raceScenarios } from '../../../test/support/http/two-processes.ts';
import { type Answer, newName, type World } from '../../../test/support/http/world.ts';
import { fillNamespace } from '../../../test/support/store/deletion-world.ts';
import { findRows, query } from '../../../test/support/store/rows.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import { usageSink } from '../../store/usage.ts';
import { CLOSING_UNIT, deleteClosed } from './deletion.ts';
import { setSuspended } from './rules.ts';

const { signal } = new AbortController();

const HISTORY = { namespace: { history: { versions: 10, days: 1 } } };
const NO_HISTORY = { namespace: { history: null } };

function assertOutcome(answers: readonly Answer[], ...outcomes: readonly string[]): void {
  const outcome = answers.map(({ status }) => status).join(' ');
  assert.ok(outcomes.includes(outcome), `${outcome}: ${answers.map(({ text }) => text).join()}`);
}

const finished = (at: World): Promise<void> => deleteClosed({ store: at.deps.store, clock: at.now, signal });

raceScenarios('namespaces, in two processes', {
  'a name is given once': async ({ world, race }) => {
    const [one, other] = [await world.customer(), await world.customer()];
    await race(async () => {
      const body = { namespace: { name: newName() } };
      return {
        left: (at) => at.caller(one.token).post('/namespaces', body),
        right: (at) => at.caller(other.token).post('/namespaces', body),
        check: (...both) => assertOutcome(both, '201 422', '422 201'),
      };
    });
  },

  'one is deleted once, and its name is then free': async ({ world, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id, name } = await customer.namespace();
      return {
        left: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        right: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        async check(...both) {
          assertOutcome(both, '204 404', '404 204');
          await finished(world);
          await customer.namespace(name);
        },
      };
    });
  },

  'one that the operator suspends is not deleted': async ({ world, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id, name } = await customer.namespace();
      return {
        left: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        right: (at) =>
          setSuspended(at.deps, name, true).then(
            () => 'suspended',
            () => 'gone',
          ),
        check(deleted, suspended) {
          const both = `${deleted.status} ${suspended}`;
          assert.ok(['204 gone', '403 suspended'].includes(both), both);
        },
      };
    });
  },

  'a token that is minted beside the deletion is revoked': async ({ world, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id } = await customer.namespace();
      return {
        left: (at) => at.caller(customer.token).post(`/namespaces/${id}/query_tokens`, { name: 't' }),
        right: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        check: (...both) => assertOutcome(both, '201 204', '404 204'),
      };
    });
  },

  'a large one takes no change of a record once it is being deleted': async ({ world, store, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id, name } = await customer.namespace();
      const made = await customer.record(`${newName()}.${name}.v1`);
      const home = { customerId: customer.id, namespaceId: id, namespace: name };
      await fillNamespace(store, home, CLOSING_UNIT);
      return {
        left: (at) => at.caller(customer.token).patch(`/records/${made.id}`, { record: { data: 'Ynll' } }),
        right: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        check: (...both) => assertOutcome(both, '200 204', '404 204'),
      };
    });
  },

  'a large one is deleted by two processes, each row once': async ({ world, store, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id, name } = await customer.namespace();
      const home = { customerId: customer.id, namespaceId: id, namespace: name };
      await fillNamespace(store, home, CLOSING_UNIT + 1);
      await customer.del(`/namespaces/${id}`);
      return {
        left: finished,
        right: finished,
        async check() {
          await finished(world);
          const told = await query<{ count: number }>(
            store.read,
            "select count(*) as count from change_log where namespace = :name and type = 'record.deleted'",
            { name },
          );
          assert.equal(told[0]!.count, CLOSING_UNIT + 1);
          assert.deepEqual(await findRows(store.read, 'namespaces', { where: { id } }), []);
        },
      };
    });
  },

  'a history that ends or begins beside a write keeps what belongs to it': async ({ world, race }) => {
    const customer = await world.customer();
    for (const [before, after] of [
      [HISTORY, NO_HISTORY],
      [NO_HISTORY, HISTORY],
    ] as const) {
      await race(async () => {
        const { id, name } = await customer.namespace();
        assert.equal((await customer.patch(`/namespaces/${id}`, before)).status, 200);
        const made = await customer.record(`${newName()}.${name}.v1`);
        const body = { record: { data: 'Ynll' } };
        return {
          left: (at) => at.caller(customer.token).patch(`/records/${made.id}`, body),
          right: (at) => at.caller(customer.token).patch(`/namespaces/${id}`, after),
          check: (...both) => assertOutcome(both, '200 200'),
        };
      });
    }
  },

  'a history that is switched on twice is one': async ({ world, store, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id } = await customer.namespace();
      return {
        left: (at) => at.caller(customer.token).patch(`/namespaces/${id}`, HISTORY),
        right: (at) => at.caller(customer.token).patch(`/namespaces/${id}`, HISTORY),
        async check(...both) {
          assertOutcome(both, '200 200');
          const rows = await query(store.read, 'select id from histories where namespace_id = :id', { id });
          assert.equal(rows.length, 1);
        },
      };
    });
  },

  'rows of queries that come beside the deletion go with it, or are not kept': async ({
    world,
    store,
    race,
  }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id } = await customer.namespace();
      const add = (at: World, batch: string) =>
        queryLogSink(at.deps.store, at.now).add({
          node: 'n1',
          batch,
          rows: [queryLogRow(id, at.now())],
          dropped: [],
        });
      await add(world, newName());
      return {
        left: (at) => add(at, newName()),
        right: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        async check(_, { status }) {
          assert.equal(status, 204);
          await finished(world);
          for (const table of ['query_log_series', 'query_log_splits']) {
            const rows = await query(store.read, `select id from ${table} where namespace_id = :id`, { id });
            assert.deepEqual(rows, [], table);
          }
        },
      };
    });
  },

  'a batch of usage, and one of the query log, counts once, in whichever process it comes again': async ({
    world,
    store,
    race,
  }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id } = await customer.namespace();
      const batch = newName();
      const hour = world.now() - (world.now() % 3_600_000);
      const add = async (at: World): Promise<void> => {
        const counts = [{ namespaceId: id, hour, answers: 5 }];
        await usageSink(at.deps.store, at.now).add({ node: 'n1', batch, counts });
        const rows = [queryLogRow(id, at.now())];
        await queryLogSink(at.deps.store, at.now).add({ node: 'n1', batch, rows, dropped: [] });
      };
      return {
        left: add,
        right: add,
        async check() {
          const usage = await findRows(store.read, 'usage_hours', { where: { namespace_id: id } });
          assert.deepEqual(
            usage.map(({ answers }) => answers),
            [5],
          );
          const series = await findRows(store.read, 'query_log_series', { where: { namespace_id: id } });
          assert.equal(series.length, 1);
          const blocks = await findRows(store.read, 'query_log_blocks', {
            where: { series_id: series[0]!.id },
          });
          assert.equal(blocks.length, 1);
        },
      };
    });
  },
});
