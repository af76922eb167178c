import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import { createLog } from '../../ops/telemetry/log.ts';
import { storeFaults, unerasedReport } from './control-role.ts';

interface Line {
  readonly event: string;
  readonly path?: string | null;
  readonly free?: number | null;
  readonly seconds?: number;
}

function world(engine: 'sqlite' | 'postgres') {
  const lines: Line[] = [];
  let now = 0;
  const clock = (): number => now;
  const log = createLog({ clock, stream: { write: (line) => lines.push(JSON.parse(line) as Line) } });
  const parts = { config: { dataDir: tmpdir() }, store: { engine }, clock, log };
  const faultsOf = storeFaults(parts);
  const held: number[] = [];
  return {
    lines,
    held,
    scrubbed: unerasedReport({ ...parts, metrics: { unerased: (seconds) => void held.push(seconds) } }),
    faultsOf,
    advance: (ms: number): void => {
      now += ms;
    },
  };
}

it('a database that is away for an hour is told a few times by each loop, not every second (operator finding 17)', () => {
  const { lines, faultsOf, advance } = world('postgres');
  const away = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  for (let second = 0; second < 3600; second++) {
    faultsOf('store.failing')(away);
    faultsOf('sweeper.failing')(away);
    advance(1000);
  }
  const count = (event: string): number => lines.filter((line) => line.event === event).length;
  // At once, and after 1, 3, 7, 15 and 31 minutes.
  assert.deepEqual([count('store.failing'), count('sweeper.failing')], [6, 6]);
  assert.equal(lines.length, 12);
});

it('a full disk is named by its path and by what is left, whatever it made fail (operator finding 6)', () => {
  const full = Object.assign(new Error('full'), { errcode: 13 });
  const { lines, faultsOf } = world('sqlite');
  faultsOf('sweeper.failing')(full);
  faultsOf('store.failing')(full);
  assert.deepEqual(
    lines.map(({ event, path }) => [event, path]),
    [['store.full', 'uqrp.sqlite']],
  );
  assert.ok(lines[0]!.free! > 0);
  const other = world('postgres');
  other.faultsOf('store.failing')(Object.assign(new Error('full'), { code: '53100' }));
  assert.deepEqual([other.lines[0]?.path, other.lines[0]?.free], [null, null]);
});

it('deleted data that another process keeps is told after 30 seconds, then ever fewer, and on SQLite alone', () => {
  const { lines, held, scrubbed, advance } = world('sqlite');
  const limitMs = LIMITS.erasureHeldSeconds * 1_000;
  for (const ms of [0, 4_000, limitMs - 1]) scrubbed(ms);
  assert.deepEqual(lines, []);
  for (let ms = limitMs; ms < limitMs + 600_000; ms += 4_000) {
    scrubbed(ms);
    advance(4_000);
  }
  // At once, and after 1, 3 and 7 minutes.
  assert.deepEqual(
    lines.map(({ event, seconds }) => [event, seconds]),
    [30, 90, 210, 450].map((seconds) => ['store.unerased', seconds]),
  );
  scrubbed(0);
  assert.deepEqual([held[1], held[2], held.at(-1)], [4, 29, 0]);
  const other = world('postgres');
  other.scrubbed(2 * limitMs);
  assert.deepEqual([other.lines, other.held], [[], []]);
});
