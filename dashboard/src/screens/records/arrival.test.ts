import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Arrival, type ArrivalPorts, watchArrival } from './arrival.ts';

/** A clock that only waiting moves, and answers by its time. */
function world(
  parts: Partial<ArrivalPorts> & { answers?: (ms: number) => 'new' | 'old' | 'refused' | 'none' },
) {
  let now = 1000;
  const shown: Arrival[] = [];
  const ports: ArrivalPorts = {
    now: () => now,
    wait: async (ms) => {
      now += ms;
    },
    views: async () => null,
    answer: async () => parts.answers?.(now - 1000) ?? 'new',
    show: (arrival) => shown.push(arrival),
    ...parts,
  };
  return { ports, shown, time: () => now - 1000 };
}

describe('where is my write', () => {
  it('shows written, in the view of each node, and answered', async () => {
    const { ports, shown, time } = world({ answers: (ms) => (ms >= 60 ? 'new' : 'old') });
    const nodes = {
      ...ports,
      views: async () => {
        const names = [
          { name: 'fra1', applied: time() >= 15, ms: time() >= 15 ? 9 : null, late: false },
          { name: 'lon1', applied: time() >= 45, ms: null, late: false },
          { name: 'old1', applied: false, ms: null, late: true },
        ];
        return { applied: time() >= 45, nodes: names };
      },
    };
    const end = await watchArrival(nodes, 1000, 1012);
    assert.deepEqual(shown[0], { written: 12, inView: [], answered: null, ended: null });
    assert.deepEqual(end, {
      written: 12,
      inView: [
        { node: 'fra1', ms: 9, isAtMost: false, late: false },
        { node: 'lon1', ms: 45, isAtMost: true, late: false },
        { node: 'old1', ms: null, isAtMost: false, late: true },
      ],
      answered: 60,
      ended: 'done',
    });
  });

  it('watches the answer alone when the server does not say what its nodes have', async () => {
    const { ports } = world({});
    assert.deepEqual(await watchArrival(ports, 1000, 1010), {
      written: 10,
      inView: [],
      answered: 0,
      ended: 'done',
    });
  });

  it('gives up after a while, and says so', async () => {
    const { ports, time } = world({ answers: () => 'old' });
    assert.equal((await watchArrival(ports, 1000, 1010)).ended, 'late');
    assert.ok(time() > 20_000 && time() < 22_000);
  });

  it('a refusal counts only after the nodes had time to learn the token', async () => {
    const { ports } = world({ answers: (ms) => (ms >= 100 ? 'new' : 'refused') });
    assert.equal((await watchArrival(ports, 1000, 1010)).ended, 'done');
    // Also where the write, or what comes before the first question, has taken its time.
    const { ports: slow } = world({ answers: (ms) => (ms >= 9100 ? 'new' : 'refused') });
    await slow.wait(9000);
    assert.equal((await watchArrival(slow, 1000, 9800)).ended, 'done');
    const { ports: never } = world({ answers: () => 'refused' });
    assert.equal((await watchArrival(never, 1000, 1010)).ended, 'refused');
    const { ports: without } = world({ answers: () => 'none' });
    assert.equal((await watchArrival(without, 1000, 1010)).ended, 'no-dns');
  });

  it('asks the nodes again after a question that failed', async () => {
    const { ports, time } = world({});
    const views = async () =>
      time() < 60
        ? ('unknown' as const)
        : { applied: true, nodes: [{ name: 'fra1', applied: true, ms: 9, late: false }] };
    const end = await watchArrival({ ...ports, views }, 1000, 1010);
    assert.deepEqual(end.inView, [{ node: 'fra1', ms: 9, isAtMost: false, late: false }]);
    assert.equal(end.ended, 'done');
    const silent = await watchArrival({ ...ports, views: async () => 'unknown' }, 1000, 1010);
    assert.equal(silent.ended, 'late');
  });

  it('ends in the view where the answer may not be asked for', async () => {
    const asked: string[] = [];
    const { ports, time } = world({});
    const end = await watchArrival(
      {
        ...ports,
        answer: async () => {
          asked.push('once');
          return 'unasked';
        },
        views: async () => ({
          applied: time() >= 30,
          nodes: [{ name: 'fra1', applied: time() >= 30, ms: null, late: false }],
        }),
      },
      1000,
      1010,
    );
    assert.deepEqual([end.ended, end.answered, asked.length], ['done', null, 1]);
  });
});
