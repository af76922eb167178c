import { keep, text } from '../../../test/support/control/history/versions.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, openWorld } from '../../../test/support/http/world.ts';
import { renewEpoch } from '../../store/service-facts.ts';

apiScenarios('history over a failover', {
  'an undo finds no write of another log, also where a failover came while it waited for its turn': async (
    store,
  ) => {
    let isArmed = false;
    const world = await openWorld(store, {
      wrap: (real) => ({
        ...real,
        async write(work) {
          if (isArmed) await real.write((tx) => renewEpoch(tx, Date.now()));
          isArmed = false;
          return real.write(work);
        },
      }),
    });
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    await keep(customer, id);
    const written = await customer.post('/records', {
      record: { key: `a.doc.${name}.v1`, data: text('one') },
    });
    isArmed = true;
    const undone = await customer.post(`/namespaces/${id}/undo`, {
      write: String(written.headers['x-service-seq']),
    });
    assertFailure(undone, 404, 'not_found', 'Version not found');
    await world.close();
  },
});
