import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CONNECTION_EVENTS, LIMITED_EVENTS, TRANSPORTS } from '../../base/network/transport.ts';
import { createEdgeStats, edgeStatsWriter, edgeTotals, LATENCY_BOUNDS, RCODE_LABELS } from './edge-stats.ts';
import type { FeedLag, FeedNow } from './feed-metrics.ts';
import { createMetrics, type Metrics, type UnsentUsage } from './metrics.ts';
import { SIGNING_EVENTS } from './vocabulary.ts';

function quiet(edgeStats: SharedArrayBuffer | null = null): Metrics {
  return createMetrics({ edgeStats, feedLag: () => null, version: '0.0.0', process: false });
}

function value(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

describe('edge stats', () => {
  it('counts rcodes by name and folds the rest', () => {
    const memory = createEdgeStats(1);
    const stats = edgeStatsWriter(memory, 0);
    const named = [0, 1, 2, 3, 4, 5, 9, 16, 23];
    for (let rcode = 0; rcode < 4096; rcode++) stats.reply('udp', 1, rcode, 0);
    assert.deepEqual(
      edgeTotals(memory).transports.udp.replies,
      RCODE_LABELS.map((label) => (label === 'other' ? 4096 - named.length : 1)),
    );
  });

  it('puts a time into the first bucket whose bound it does not exceed', () => {
    const memory = createEdgeStats(1);
    const stats = edgeStatsWriter(memory, 0);
    for (const bound of LATENCY_BOUNDS) {
      stats.reply('tcp', 0, 0, bound);
      stats.reply('tcp', 0, 0, bound * 1.000_001);
    }
    assert.deepEqual(edgeTotals(memory).transports.tcp.latency, [
      1,
      ...Array.from({ length: LATENCY_BOUNDS.length - 1 }, () => 2),
      1,
    ]);
  });

  it('sums what several workers count, and mixes nothing up', () => {
    const workers = 3;
    const worker = fc.nat({ max: workers - 1 });
    const transport = fc.constantFrom(...TRANSPORTS);
    const call = fc.oneof(
      fc.tuple(fc.constant('reply' as const), worker, transport, fc.nat({ max: 25 })),
      fc.tuple(fc.constant('connection' as const), worker, transport, fc.constantFrom(...CONNECTION_EVENTS)),
      fc.tuple(
        fc.constantFrom(
          'malformed' as const,
          'cacheHit' as const,
          'cacheMiss' as const,
          'missDropped' as const,
        ),
        worker,
        transport,
      ),
      fc.tuple(fc.constant('limited' as const), worker, fc.constantFrom(...LIMITED_EVENTS)),
      fc.tuple(fc.constant('signing' as const), worker, fc.constantFrom(...SIGNING_EVENTS)),
    );
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60 }), (calls) => {
        const memory = createEdgeStats(workers);
        const writers = Array.from({ length: workers }, (_, at) => edgeStatsWriter(memory, at));
        for (const [what, at, name, detail] of calls) {
          const stats = writers[at]!;
          if (what === 'limited') stats.limited(name);
          else if (what === 'signing') stats.signing(name);
          else if (what === 'reply') stats.reply(name, 10, detail as number, 0.5);
          else if (what === 'connection')
            stats.connection(name, detail as (typeof CONNECTION_EVENTS)[number]);
          else if (what === 'malformed') stats.malformed(name);
          else stats[what]();
        }
        const count = (...wanted: readonly unknown[]): number =>
          calls.filter(
            ([what, , ...rest]) => [what, ...rest].slice(0, wanted.length).join() === wanted.join(),
          ).length;
        const totals = edgeTotals(memory);
        for (const name of TRANSPORTS) {
          const { replies, latency, seconds, bytes, malformed, connections } = totals.transports[name];
          const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
          assert.equal(sum(replies), count('reply', name));
          assert.equal(sum(latency), count('reply', name));
          assert.equal(seconds, count('reply', name) * 0.5);
          assert.equal(bytes, count('reply', name) * 10);
          assert.equal(malformed, count('malformed', name));
          for (const event of CONNECTION_EVENTS) {
            assert.equal(connections[event], count('connection', name, event));
          }
        }
        assert.equal(totals.cacheHits, count('cacheHit'));
        assert.equal(totals.cacheMisses, count('cacheMiss'));
        assert.equal(totals.missesDropped, count('missDropped'));
        for (const event of LIMITED_EVENTS) assert.equal(totals.limited[event], count('limited', event));
        for (const event of SIGNING_EVENTS) assert.equal(totals.signing[event], count('signing', event));
      }),
    );
  });
});

describe('createMetrics', () => {
  it('shows the counters of the workers, as they stand when asked', async () => {
    const memory = createEdgeStats(2);
    const metrics = quiet(memory);
    const [a, b] = [edgeStatsWriter(memory, 0), edgeStatsWriter(memory, 1)];
    for (let round = 1; round <= 2; round++) {
      a.reply('udp', 100, 0, 0.000_004);
      b.reply('udp', 50, 5, 0.02);
      a.connection('doh', 'opened');
      b.connection('doh', 'opened');
      b.connection('doh', 'closed');
      b.connection('tcp', 'refused');
      b.connection('dot', 'evicted');
      a.limited('dropped');
      a.limited('dropped');
      b.limited('slipped');
      b.missDropped();
      a.signing('truncated');
      b.signing('waited');
      b.signing('refused');
      a.malformed('udp');
      a.cacheHit();
      b.cacheMiss();
      const text = await metrics.text();
      assert.deepEqual(
        [
          'uqrp_dns_replies_total{transport="udp",rcode="noerror"}',
          'uqrp_dns_replies_total{transport="udp",rcode="refused"}',
          'uqrp_dns_reply_bytes_total{transport="udp"}',
          'uqrp_dns_malformed_total{transport="udp"}',
          'uqrp_dns_connections{transport="doh"}',
          'uqrp_dns_connections_total{transport="doh",result="opened"}',
          'uqrp_dns_connections_total{transport="tcp",result="refused"}',
          'uqrp_dns_connections_total{transport="dot",result="evicted"}',
          'uqrp_dns_rate_limited_total{result="dropped"}',
          'uqrp_dns_rate_limited_total{result="slipped"}',
          'uqrp_dns_misses_dropped_total',
          'uqrp_dns_signing_limited_total{result="truncated"}',
          'uqrp_dns_signing_limited_total{result="waited"}',
          'uqrp_dns_signing_limited_total{result="refused"}',
          'uqrp_dns_packet_cache_total{result="hit"}',
          'uqrp_dns_packet_cache_total{result="miss"}',
          'uqrp_dns_reply_seconds_bucket{transport="udp",le="0.000005"}',
          'uqrp_dns_reply_seconds_bucket{transport="udp",le="0.01"}',
          'uqrp_dns_reply_seconds_bucket{transport="udp",le="0.05"}',
          'uqrp_dns_reply_seconds_bucket{transport="udp",le="+Inf"}',
          'uqrp_dns_reply_seconds_count{transport="udp"}',
        ].map((series) => (value(text, series) ?? Number.NaN) / round),
        [1, 1, 150, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2],
      );
      assert.ok(
        Math.abs(value(text, 'uqrp_dns_reply_seconds_sum{transport="udp"}')! - round * 0.020_004) < 1e-9,
      );
    }
  });

  it('counts requests by template, and never takes a URL for one', async () => {
    const metrics = quiet();
    const token = 'svcq0123456789abcdefghij';
    const seen: readonly [string | undefined, string, string][] = [
      ['/api/v1/records/:id', 'GET', '/api/v1/records/:id'],
      ['/readyz', 'GET', '/readyz'],
      [undefined, 'GET', 'none'],
      [`/api/v1/records/${token}`, 'GET', 'other'],
      ['/api/v1/records/7f1a', 'GET', 'other'],
      ['/api/v1/records?namespace=acme', 'GET', 'other'],
    ];
    for (const [route, method] of seen) metrics.http({ route, method, status: 200, seconds: 0.002 });
    metrics.http({ route: '/readyz', method: token, status: 404, seconds: 1 });
    const text = await metrics.text();
    for (const [, method, label] of seen) {
      const count = label === 'other' ? 3 : 1;
      const labels = `route="${label}",method="${method}"`;
      assert.equal(value(text, `uqrp_http_requests_total{${labels},status="200"}`), count);
      assert.equal(value(text, `uqrp_http_request_seconds_bucket{le="0.0025",${labels}}`), count);
    }
    assert.equal(value(text, 'uqrp_http_requests_total{route="/readyz",method="other",status="404"}'), 1);
    assert.equal(text.includes(token), false);
  });

  it('has a count of requests that failed before the first one fails, so that rate() sees it', async () => {
    const metrics = quiet();
    const failed = async () => value(await metrics.text(), 'uqrp_http_server_errors_total');
    assert.equal(await failed(), 0);
    for (const status of [200, 404, 500, 503])
      metrics.http({ route: '/api/v1/records', method: 'POST', status, seconds: 0 });
    assert.equal(await failed(), 1);
  });

  it('bounds the number of routes', async () => {
    const metrics = quiet();
    const name = (at: number): string => `/${'abcdefghi'[at >> 4]}${'abcdefghijklmnop'[at & 15]}`;
    for (let at = 0; at < 129; at++)
      metrics.http({ route: name(at), method: 'GET', status: 200, seconds: 0 });
    const text = await metrics.text();
    assert.equal(value(text, `uqrp_http_requests_total{route="${name(127)}",method="GET",status="200"}`), 1);
    assert.equal(value(text, 'uqrp_http_requests_total{route="other",method="GET",status="200"}'), 1);
  });

  it('shows the lag of the feed while somebody follows', async () => {
    let lag: FeedLag | null = { seq: 7, seconds: 1.5, isStale: false };
    const metrics = createMetrics({ edgeStats: null, feedLag: () => lag, process: false });
    metrics.feed.applied(3);
    metrics.swept(2);
    metrics.workerRestarted();
    const text = await metrics.text();
    assert.equal(value(text, 'uqrp_feed_lag_changes'), 7);
    assert.equal(value(text, 'uqrp_feed_lag_seconds'), 1.5);
    assert.equal(value(text, 'uqrp_feed_changes_applied_total'), 3);
    assert.equal(value(text, 'uqrp_records_expired_total'), 2);
    assert.equal(value(text, 'uqrp_worker_restarts_total'), 1);
    assert.equal(value(text, 'uqrp_feed_stale_seconds'), 0);
    lag = { ...lag, isStale: true };
    assert.equal(value(await metrics.text(), 'uqrp_feed_stale_seconds'), 1.5);
    lag = null;
    assert.equal(value(await metrics.text(), 'uqrp_feed_lag_changes'), undefined);
  });

  it('shows the feed of the side that the process is on', async () => {
    let now: FeedNow | null = null;
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, feed: () => now, process: false });
    const gauges = [
      'connected',
      'heartbeat_seconds',
      'leader',
      'published_seq',
      'unconfirmed_batches',
      'snapshot_seconds',
      'late_nodes',
    ];
    const shown = async (): Promise<(number | undefined)[]> => {
      const text = await metrics.text();
      return gauges.map((name) => value(text, `uqrp_feed_${name}`));
    };
    const none = undefined;
    assert.deepEqual(await shown(), [none, none, none, none, none, none, none]);
    now = { isConnected: true, node: { heartbeatSeconds: 0.5 }, control: null };
    assert.deepEqual(await shown(), [1, 0.5, none, none, none, none, none]);
    now = { isConnected: false, node: { heartbeatSeconds: null }, control: null };
    assert.deepEqual(await shown(), [0, none, none, none, none, none, none]);
    const control = { published: 9, unconfirmed: 2, snapshotSeconds: 60, late: 4 };
    now = { isConnected: true, node: null, control };
    assert.deepEqual(await shown(), [1, none, 1, 9, 2, 60, 4]);
    const idle = { published: null, unconfirmed: 0, snapshotSeconds: null, late: 0 };
    now = { isConnected: true, node: null, control: idle };
    assert.deepEqual(await shown(), [1, none, 0, none, 0, none, 0]);

    assert.equal(value(await metrics.text(), 'uqrp_feed_refused_total{reason="signature"}'), 0);
    metrics.feed.refused('signature');
    metrics.feed.repaired('stream', 3);
    metrics.feed.conflicted();
    metrics.feed.leftOut(5);
    const text = await metrics.text();
    assert.equal(value(text, 'uqrp_feed_refused_total{reason="signature"}'), 1);
    assert.equal(value(text, 'uqrp_feed_repaired_changes_total{from="stream"}'), 3);
    assert.equal(value(text, 'uqrp_feed_conflicts_total'), 1);
    assert.equal(value(text, 'uqrp_feed_answers_left_out_total'), 5);
  });

  it('shows what a node could not send yet', async () => {
    let unsentUsage: UnsentUsage | null = { answers: 12, spoolOctets: 480 };
    const options = { edgeStats: null, feedLag: () => null, process: false };
    const metrics = createMetrics({ ...options, unsentUsage: () => unsentUsage });
    const shown = async (): Promise<(number | undefined)[]> => {
      const text = await metrics.text();
      return ['waiting_answers', 'spool_bytes'].map((name) => value(text, `uqrp_usage_${name}`));
    };
    assert.deepEqual(await shown(), [12, 480]);
    unsentUsage = { answers: 0, spoolOctets: 0 };
    assert.deepEqual(await shown(), [0, 0]);
    unsentUsage = null;
    assert.deepEqual(await shown(), [undefined, undefined]);
  });

  it('has only metrics that docs/operations/events.md lists', async () => {
    const page = readFileSync(new URL('../../../docs/operations/events.md', import.meta.url), 'utf8');
    const listed = [...page.matchAll(/^\| `(uqrp_[a-z_]+)` \|/gm)].map(([, name]) => name!).sort();
    const text = await quiet(createEdgeStats(1)).text();
    assert.deepEqual(listed, [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!).sort());
  });

  it('adds those of the process, under our prefix', async () => {
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, process: true });
    const names = [...(await metrics.text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);
    assert.ok(names.includes('uqrp_process_resident_memory_bytes'));
    assert.deepEqual(
      names.filter((name) => !name.startsWith('uqrp_')),
      [],
    );
  });
});
