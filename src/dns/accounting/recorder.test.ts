import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMITS } from '../../base/limits.ts';
import { checkQueryLogBatch, loggedLabel } from '../../feed/ports/query-log.ts';
import { parseQueryName, type Query } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES } from '../../protocol/query/outcome.ts';
import { spellQueryToken } from '../../protocol/query/query-token.ts';
import { createRecorder, decodeHandover, type Handover, type Recorder } from './recorder.ts';
import type { Tag, TaggedQuestion } from './tag.ts';

const ID = '018f0000-0000-7000-8000-000000000001';
const OTHER = '018f0000-0000-7000-8000-000000000002';
const TOKEN = spellQueryToken(Buffer.alloc(32, 'canary'));
const START = Date.UTC(2026, 0, 1);
const ANSWERED = { rcode: 0, isFailure: false };
const TXT = 16;
const HALF = LIMITS.queryLogRowsPerSecond / 2;
/** What each of two namespaces may fill. */
const THIRD = Math.floor(LIMITS.queryLogRowsPerSecond / 3);

function queryOf(name: string): Query {
  const parsed = parseQueryName(name);
  assert.ok(parsed.kind === 'query');
  return parsed.query;
}

const QUERY = queryOf(`get.auth-${TOKEN}.canaryparam.temp.canaryspace.v1`);

function asked(parts: Partial<TaggedQuestion> = {}): TaggedQuestion {
  return { query: QUERY, namespaceId: ID, reading: 'private', status: 'hit', ...parts };
}

interface World {
  readonly recorder: Recorder;
  readonly statuses: number[];
  readonly tag: (parts?: Partial<TaggedQuestion>) => Tag;
  readonly handOver: () => Handover | null;
}

function world(): World {
  const statuses = QUERY_STATUSES.map(() => 0);
  const recorder = createRecorder({ startedAt: START, onQuery: (status) => statuses[status]!++ });
  return {
    recorder,
    statuses,
    tag: (parts) => recorder.tagOf(asked(parts), ANSWERED, TXT),
    handOver() {
      const buffer = recorder.handOver(START + 1000);
      return buffer === null ? null : decodeHandover(buffer);
    },
  };
}

function answersOf({ totals }: Handover) {
  return totals.map(({ namespaceId, answers }) => ({ namespaceId, answers }));
}

function droppedOf({ totals }: Handover): number {
  return totals.reduce((sum, { dropped }) => sum + dropped, 0);
}

describe('what a worker hands over', () => {
  test('a private answer with data counts, and is a row with the labels of its record', () => {
    const { recorder, tag, handOver, statuses } = world();
    recorder.record(tag(), 'udp', START + 5, 0);
    recorder.record(tag(), 'tcp', START + 6, 3);
    const handover = handOver();
    assert.ok(handover);
    assert.equal(handover.since, START);
    assert.deepEqual(answersOf(handover), [{ namespaceId: ID, answers: 2 }]);
    const row = {
      namespaceId: ID,
      resource: loggedLabel('temp'),
      version: loggedLabel('v1'),
      operation: 'get',
      qtype: TXT,
      status: 'hit',
      rcode: 0,
    };
    assert.deepEqual(handover.rows(), [
      { ...row, at: START + 5, transport: 'udp', durationMs: 0 },
      { ...row, at: START + 6, transport: 'tcp', durationMs: 3 },
    ]);
    assert.deepEqual(statuses, [2, 0, 0, 0, 0]);
    assert.equal(handOver(), null, 'everything was handed over');
  });

  test('what counts and what is recorded, by reading, status and transport', () => {
    const table: readonly (readonly [Partial<TaggedQuestion>, answers: number, labels: boolean])[] = [
      [{ reading: 'private', status: 'hit' }, 1, true],
      [{ reading: 'private', status: 'miss' }, 0, true],
      [{ reading: 'private', status: 'expired' }, 0, true],
      [{ reading: 'private', status: 'error' }, 0, false],
      [{ reading: 'open', status: 'hit' }, 0, true],
      [{ reading: 'open', status: 'miss' }, 0, true],
      [{ reading: 'none', status: 'refused' }, 0, false],
      [{ reading: 'none', status: 'miss' }, 0, false],
      [{ reading: 'none', status: 'error' }, 0, false],
    ];
    for (const [parts, answers, hasLabels] of table) {
      for (const transport of ['udp', 'tcp', 'dot', 'doh'] as const) {
        const { recorder, tag, handOver } = world();
        recorder.record(tag(parts), transport, START, 0);
        const handover = handOver()!;
        assert.deepEqual(answersOf(handover), [{ namespaceId: ID, answers }]);
        const rows = handover.rows();
        assert.equal(rows.length, transport === 'doh' ? 0 : 1);
        for (const { status, resource, version } of rows) {
          assert.equal(status, parts.status);
          assert.deepEqual([resource, version], hasLabels ? ['temp', 'v1'] : [null, null]);
        }
        checkQueryLogBatch({ node: 'n', batch: '1', rows, dropped: [] });
      }
    }
  });

  test('a failure to answer is an error, whatever the outcome was', () => {
    const { recorder, handOver } = world();
    const tag = recorder.tagOf(asked(), { rcode: 2, isFailure: true }, TXT);
    recorder.record(tag, 'udp', START, 0);
    const handover = handOver()!;
    assert.deepEqual(answersOf(handover), [{ namespaceId: ID, answers: 0 }]);
    const [row] = handover.rows();
    assert.deepEqual([row?.status, row?.rcode, row?.resource], ['error', 2, null]);
  });

  test("the operator's namespaces and names of no namespace: statuses are counted, nothing is handed over", () => {
    const { recorder, tag, handOver, statuses } = world();
    for (let i = 0; i < LIMITS.queryLogRowsPerSecond + 10; i++) {
      recorder.record(tag({ namespaceId: null, reading: 'none', status: 'refused' }), 'udp', START, 0);
    }
    recorder.record(tag({ namespaceId: null, reading: 'operator' }), 'udp', START, 0);
    assert.equal(handOver(), null);
    assert.deepEqual(statuses, [1, 0, 0, 0, LIMITS.queryLogRowsPerSecond + 10]);
  });

  test('names of no namespace take no room from rows, before, between or after them', () => {
    const { recorder, tag, handOver } = world();
    const nobody = tag({ namespaceId: null, reading: 'none', status: 'refused' });
    for (let i = 0; i < THIRD; i++) {
      recorder.record(nobody, 'udp', START, 0);
      recorder.record(tag(), 'udp', START + i, 0);
      recorder.record(tag({ namespaceId: OTHER }), 'dot', START + i, 0);
      recorder.record(nobody, 'udp', START, 0);
    }
    const handover = handOver()!;
    assert.equal(droppedOf(handover), 0);
    const rows = handover.rows();
    assert.equal(rows.length, 2 * THIRD);
    for (const [at, row] of rows.entries()) {
      assert.deepEqual([row.at, row.namespaceId], [START + (at >> 1), at % 2 === 0 ? ID : OTHER]);
    }
  });
});

describe('bounds of a worker', () => {
  test('queries without a token, for many namespaces, fill less than half of the rows; one namespace with a token has half of the rest', () => {
    const { recorder, tag, handOver } = world();
    for (let i = 0; i < 2 * HALF; i++) {
      const namespaceId = `018f0001-0000-7000-8000-${String(i % 8).padStart(12, '0')}`;
      const parts =
        i % 3 === 0 ? ({ reading: 'open' } as const) : ({ reading: 'none', status: 'refused' } as const);
      recorder.record(tag({ namespaceId, ...parts }), 'udp', START, 0);
    }
    for (let i = 0; i < HALF; i++) recorder.record(tag(), 'udp', START, 0);
    const handover = handOver();
    assert.ok(handover);
    const rows = handover.rows();
    const own = rows.filter(({ namespaceId }) => namespaceId === ID).length;
    assert.ok(rows.length - own < HALF);
    assert.ok(own > HALF / 2, 'a namespace with a token has half of what they leave');
    assert.equal(rows.length + droppedOf(handover), 3 * HALF);
  });

  test('a flood of one public namespace leaves room for another one, and for private reads', () => {
    const { recorder, tag, handOver } = world();
    for (let i = 0; i < 2 * HALF; i++) recorder.record(tag({ reading: 'open' }), 'udp', START, 0);
    for (let i = 0; i < HALF / 4; i++) {
      recorder.record(tag({ namespaceId: OTHER, reading: 'open' }), 'udp', START, 0);
      recorder.record(tag({ namespaceId: OTHER }), 'udp', START, 0);
    }
    const handover = handOver()!;
    const own = Map.groupBy(handover.rows(), ({ namespaceId }) => namespaceId);
    assert.deepEqual([own.get(ID)!.length, own.get(OTHER)!.length], [HALF / 2, HALF / 2]);
    assert.deepEqual(
      handover.totals.map(({ dropped }) => dropped),
      [HALF * 1.5, 0],
    );
  });

  test('queries without a token have as much room after a handover as before', () => {
    const { recorder, tag, handOver } = world();
    const flood = [1, 2].map((n) => tag({ namespaceId: `n${n}`, reading: 'open' }));
    const rowsOfFlood = (): number => {
      for (let i = 0; i < 2 * HALF; i++) for (const one of flood) recorder.record(one, 'udp', START, 0);
      return handOver()!.rows().length;
    };
    assert.equal(rowsOfFlood(), rowsOfFlood());
  });

  test('one namespace fills at most half of the rows; further ones are dropped and counted, answers are not', () => {
    const { recorder, tag, handOver } = world();
    for (let i = 0; i < HALF + 7; i++) recorder.record(tag(), 'udp', START, 0);
    recorder.record(tag({ namespaceId: OTHER }), 'udp', START, 0);
    const handover = handOver()!;
    assert.deepEqual([handover.rows().length, droppedOf(handover)], [HALF + 1, 7]);
    assert.deepEqual(answersOf(handover), [
      { namespaceId: ID, answers: HALF + 7 },
      { namespaceId: OTHER, answers: 1 },
    ]);
    recorder.record(tag(), 'udp', START, 0);
    assert.deepEqual(
      [handOver()!.rows().length, handOver()],
      [1, null],
      'a second later there is room again',
    );
  });

  test('namespaces with tokens fill as much as they leave to another one: a customer with many does not push out the rows of others', () => {
    const { recorder, tag, handOver } = world();
    const flood = ['a', 'b', 'c', 'd'];
    for (let i = 0; i < LIMITS.queryLogRowsPerSecond; i++) {
      for (const namespaceId of flood) recorder.record(tag({ namespaceId }), 'tcp', START, 0);
    }
    const others = 100;
    for (let i = 0; i < others; i++) recorder.record(tag({ namespaceId: OTHER }), 'udp', START, 0);
    const handover = handOver()!;
    const share = LIMITS.queryLogRowsPerSecond / (flood.length + 1);
    const rows = Map.groupBy(handover.rows(), ({ namespaceId }) => namespaceId);
    assert.deepEqual(
      flood.map((namespaceId) => rows.get(namespaceId)!.length),
      flood.map(() => share),
    );
    assert.equal(rows.get(OTHER)!.length, others);
    assert.equal(droppedOf(handover), flood.length * (LIMITS.queryLogRowsPerSecond - share));
    assert.deepEqual(
      answersOf(handover),
      [
        ...flood.map((namespaceId) => ({ namespaceId, answers: LIMITS.queryLogRowsPerSecond })),
        { namespaceId: OTHER, answers: others },
      ],
      'answers are all counted',
    );
  });

  test('more namespaces than are kept at hand: nothing is lost, and tags made before count on', () => {
    const { recorder, tag, handOver } = world();
    const kept = tag();
    recorder.record(kept, 'doh', START, 0);
    for (let i = 0; i < LIMITS.accountingNamespaces + 5; i++) {
      recorder.record(tag({ namespaceId: `n${i}` }), 'doh', START, 0);
    }
    recorder.record(kept, 'doh', START, 0);
    recorder.record(tag(), 'doh', START, 0);
    const sums = new Map<string, number>();
    for (const { namespaceId, answers } of handOver()!.totals) {
      sums.set(namespaceId, answers + (sums.get(namespaceId) ?? 0));
    }
    assert.equal(sums.size, LIMITS.accountingNamespaces + 6);
    assert.equal(sums.get(ID), 3);
    assert.ok([...sums].every(([id, answers]) => id === ID || answers === 1));
    recorder.record(kept, 'doh', START, 0);
    assert.deepEqual(answersOf(handOver()!), [{ namespaceId: ID, answers: 1 }]);
  });
});

test('no name, parameter, token or other label is in the buffer, whatever became of the query', () => {
  const { recorder, tag } = world();
  for (const status of QUERY_STATUSES) {
    for (const reading of ['private', 'open', 'none', 'operator'] as const) {
      for (const transport of ['udp', 'tcp', 'dot', 'doh'] as const) {
        recorder.record(tag({ status, reading }), transport, START, 0);
      }
    }
  }
  const text = Buffer.from(recorder.handOver(START)!).toString('latin1');
  assert.ok(text.includes(ID));
  for (const secret of [TOKEN, TOKEN.slice(4), 'svcq', 'auth-', 'canary']) assert.ok(!text.includes(secret));
});

test('the resource of an unauthorised query is not in the buffer', () => {
  const { recorder, tag } = world();
  for (const status of ['refused', 'miss', 'error'] as const) {
    recorder.record(tag({ status, reading: 'none' }), 'udp', START, 0);
  }
  assert.ok(!Buffer.from(recorder.handOver(START)!).toString('latin1').includes('temp'));
});

test('a tag keeps nothing of the name that was asked but its own labels', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const { tag } = world();
  const tags = new Array<Tag | null>(20_000).fill(null);
  const held = (): number => {
    gc();
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = held();
  for (let i = 0; i < tags.length; i++) {
    // As from a packet: text of its own, not parts that are put together.
    const name = Buffer.from(`get.auth-${TOKEN}.${'p'.repeat(60)}.n${i}.a-resource-of-an-app.canaryspace.v1`);
    tags[i] = tag({ query: queryOf(name.toString('latin1')) });
  }
  const grown = (held() - before) / tags.length;
  assert.equal(tags.at(-1)?.resource, 'a-resource-of-an-app');
  // Tag and label take 160; with a name of 160 octets behind the label it would be more than 300.
  assert.ok(grown < 220, `${Math.round(grown)} octets a tag`);
});
