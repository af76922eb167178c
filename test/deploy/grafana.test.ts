import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createEdgeStats } from '../../src/ops/telemetry/edge-stats.ts';
import { createMetrics } from '../../src/ops/telemetry/metrics.ts';
import { textOf } from '../docs/named-tests.ts';
import { deployText } from '../support/deploy/unit-file.ts';

interface Panel {
  readonly type: string;
  readonly id: number;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

interface Board {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
}

const BOARD = JSON.parse(deployText('grafana/uqrp.json')) as Board;
const QUERIES = BOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
/** Labels that Prometheus adds, and the bound of a histogram's bucket. */
const OF_PROMETHEUS = ['job', 'instance', 'le'];

/** Names as in the text that a process exports, those of histograms with their three endings. */
async function exported(): Promise<ReadonlySet<string>> {
  const metrics = createMetrics({
    edgeStats: createEdgeStats(1),
    feedLag: () => null,
    version: '1',
    process: true,
  });
  const types = (await metrics.text()).matchAll(/^# TYPE (\S+) (\w+)$/gm);
  return new Set(
    [...types].flatMap(([, name, type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name! + end) : [name!],
    ),
  );
}

/** Labels of each metric in the table of docs/operations/events.md. */
function documentedLabels(): ReadonlyMap<string, readonly string[]> {
  const rows = textOf('docs/operations/events.md').matchAll(/^\| `(uqrp_\w+)` \| \w+ \| ([^|]*) \|/gm);
  const words = (text: string) => text.replaceAll(/\([^)]*\)/g, '').split(',');
  return new Map(
    Array.from(rows, ([, name, labels = '']) => [name!, words(labels).map((word) => word.trim())] as const),
  );
}

const metricsOf = (query: string): readonly string[] => query.match(/\buqrp_\w+/g) ?? [];

const promtool = (...args: readonly string[]) => spawnSync('promtool', args, { encoding: 'utf8' });
const noPromtool =
  promtool('--version').status === 0 ? false : 'promtool is missing (Debian: apt-get install prometheus)';

describe('deploy/grafana/uqrp.json', () => {
  it('uses only metrics that a process exports', async () => {
    const known = await exported();
    const variables = BOARD.templating.list.map(({ query }) => JSON.stringify(query)).join('\n');
    const used = [...QUERIES, variables].flatMap(metricsOf);
    assert.ok(used.length >= 30);
    assert.deepEqual(
      used.filter((name) => !known.has(name)),
      [],
    );
  });

  it('uses only labels that a metric has', () => {
    const documented = documentedLabels();
    let checked = 0;
    for (const query of QUERIES) {
      const names = metricsOf(query).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
      const known = new Set([...names.flatMap((name) => documented.get(name) ?? []), ...OF_PROMETHEUS]);
      const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/, ?/));
      const selected = [...query.matchAll(/(\w+)=~?"/g)].map(([, label]) => label!);
      for (const label of [...grouped, ...selected]) {
        checked++;
        assert.ok(known.has(label), `${label} in ${query}`);
      }
    }
    assert.ok(checked > 60);
  });

  it('asks the data source that is chosen in the board, under one uid', () => {
    assert.equal(BOARD.uid, 'uqrp-overview');
    const [first] = BOARD.templating.list;
    assert.deepEqual([first?.name, first?.query], ['datasource', 'prometheus']);
    for (const { title, type, datasource, targets } of BOARD.panels) {
      if (type === 'row') continue;
      assert.ok(targets !== undefined && targets.length > 0, title);
      for (const uid of [datasource?.uid, ...targets.map((target) => target.datasource.uid)])
        assert.equal(uid, '$' + '{datasource}', title);
    }
    for (const { name } of BOARD.templating.list.slice(1))
      for (const query of QUERIES) assert.ok(query.includes(`$${name}`), `${name} in ${query}`);
  });

  it('has panels that do not cover each other', () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of BOARD.panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          const place = `${x} ${y}`;
          assert.ok(x < 24 && !taken.has(place), `${title} covers ${taken.get(place)}`);
          taken.set(place, title);
        }
    assert.equal(new Set(BOARD.panels.map(({ id }) => id)).size, BOARD.panels.length);
  });

  it('has queries that Prometheus parses', { skip: noPromtool }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'uqrp-board-'));
    try {
      const check = (queries: readonly string[]) => {
        const rules = queries.map((query, i) => ({
          record: `board:query:${i}`,
          expr: query.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance)/g, '.*'),
        }));
        const file = join(folder, 'rules.yml');
        // JSON is YAML.
        writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules }] }));
        const { status, stdout, stderr } = promtool('check', 'rules', file);
        return { status, said: stdout + stderr };
      };
      const { status, said } = check(QUERIES);
      assert.equal(status, 0, said);
      assert.match(said, new RegExp(`${QUERIES.length} rules found`));
      assert.notEqual(check(['sum(rate(uqrp_dns_replies_total{[5m]))']).status, 0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
