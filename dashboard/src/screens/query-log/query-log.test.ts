import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { digLine } from './dig-line.ts';
import { fits, NO_FILTERS, readFilters, writeFilters } from './filters.ts';
import { toCsv, toJsonLines } from './row-export.ts';
import { createRate, mergeRows } from './row-list.ts';
import { windowOf } from './time-buckets.ts';

const AT = Date.parse('2026-11-22T12:00:00.000Z');

function row(id: number, more: Partial<QueryLogRow> = {}): QueryLogRow {
  return {
    id: String(id),
    timestamp: new Date(AT + id * 1000).toISOString(),
    namespace: 'acme',
    resource: 'status',
    version: 'v1',
    operation: 'get',
    qtype: 'TXT',
    status: 'hit',
    rcode: 'NOERROR',
    transport: 'udp',
    node: 'fra1',
    duration_ms: 0,
    ...more,
  };
}

const idsOf = (rows: readonly QueryLogRow[]): number[] => rows.map(({ id }) => Number(id));

describe('rows that are kept', () => {
  it('are the newest, each once, whatever the order in which they came', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 20 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 40 }),
        (batches, max) => {
          const all = new Set(batches.flat());
          const kept = batches.reduce<readonly QueryLogRow[]>(
            (rows, ids) =>
              mergeRows(
                rows,
                ids.map((id) => row(id)),
                max,
              ),
            [],
          );
          const expected = [...all].sort((a, b) => b - a).slice(0, max);
          // A row that fell off the end may come back only while there is room: what is kept is always the newest.
          assert.deepEqual(idsOf(kept), expected);
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  });

  it('are 5,000 at most', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => row(index + 1));
    const full = mergeRows([], many);
    assert.equal(full.length, 5_000);
    const more = mergeRows(full, [row(5_001)]);
    assert.deepEqual([more.length, more[0]?.id, more.at(-1)?.id], [5_000, '5001', '2']);
  });

  it('come at a rate of the last ten seconds', () => {
    const rate = createRate();
    assert.equal(rate.perSecond(AT), 0);
    rate.add(50, AT);
    assert.equal(rate.perSecond(AT), 50);
    for (let second = 1; second <= 19; second++) rate.add(20, AT + second * 1000);
    assert.equal(rate.perSecond(AT + 19_000), 20);
    assert.equal(rate.perSecond(AT + 40_000), 0);
  });
});

describe('filters', () => {
  it('are the same after a reload of the page', () => {
    const filters = {
      namespace: 'acme',
      status: 'refused',
      node: 'fra 1&x=y',
      transport: 'dot',
      since: '2026-11-22T12:00:00.000Z',
      until: '2026-11-22T13:00:00.000Z',
    } as const;
    assert.deepEqual(readFilters(new URLSearchParams(writeFilters(filters))), filters);
    assert.equal(writeFilters(NO_FILTERS), '');
  });

  it('leave out what is not understood', () => {
    const query = new URLSearchParams('status=good&transport=pigeon&since=soon&until=&namespace=&x=1');
    assert.deepEqual(readFilters(query), NO_FILTERS);
  });

  it('apply to rows, each by itself, until is exclusive', () => {
    const one = row(10, { status: 'miss', transport: 'tcp', node: 'ams1' });
    const time = one.timestamp;
    const later = new Date(Date.parse(time) + 1).toISOString();
    for (const [filters, expected] of [
      [{}, true],
      [
        { namespace: 'acme', status: 'miss', transport: 'tcp', node: 'ams1', since: time, until: later },
        true,
      ],
      [{ namespace: 'other' }, false],
      [{ status: 'hit' }, false],
      [{ transport: 'udp' }, false],
      [{ node: 'fra1' }, false],
      [{ since: later }, false],
      [{ until: time }, false],
    ] as const) {
      assert.equal(fits(one, { ...NO_FILTERS, ...filters }), expected, JSON.stringify(filters));
    }
  });
});

describe('steps of the chart', () => {
  it('are selected whole', () => {
    const second = AT / 1000;
    const minute = { since: '2026-11-22T12:00:00.000Z', until: '2026-11-22T12:01:00.000Z' };
    assert.deepEqual(windowOf(second + 10, second + 50, 60), minute);
    assert.deepEqual(windowOf(second + 50, second + 10, 60), minute);
    assert.deepEqual(windowOf(second, second, 60), minute);
  });
});

describe('an export', () => {
  it('is CSV without formulas, or lines of JSON', () => {
    const odd = row(1, { node: '=cmd|"x"', resource: null });
    const [head, line, end] = toCsv([odd]).split('\r\n');
    assert.equal(head?.split(',').length, 12);
    assert.equal(line, `1,2026-11-22T12:00:01.000Z,acme,,v1,get,TXT,hit,NOERROR,udp,"'=cmd|""x""",0`);
    assert.equal(end, '');
    assert.deepEqual(
      toJsonLines([odd, row(2)])
        .trimEnd()
        .split('\n')
        .map((text) => JSON.parse(text)),
      [odd, row(2)],
    );
  });
});

describe('the line to paste', () => {
  const endpoints = {
    rest: 'http://localhost:8080/api/v1',
    dot: null,
    doh: null,
    resolve: null,
    schema: null,
  };
  it('asks for a record of the account, and holds no token', () => {
    const dns = { host: '127.0.0.1', port: 5300 };
    assert.equal(
      digLine({ zones: ['uqrp.net'], endpoints: { ...endpoints, dns } }, 'sensor-1.status.acme.v1'),
      'dig @127.0.0.1 -p 5300 TXT get.sensor-1.status.acme.v1.uqrp.net +short',
    );
  });
  it('is not there when this server answers no DNS', () => {
    assert.equal(digLine({ zones: ['uqrp.net'], endpoints: { ...endpoints, dns: null } }, 'a.acme.v1'), null);
  });
});
