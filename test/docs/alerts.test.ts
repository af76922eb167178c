import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { textOf } from './named-tests.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../docs/alerts/', import.meta.url));
const TELEMETRY = new URL('../../src/ops/telemetry/', import.meta.url);
/** Each file of rules, and the page that explains them. */
const FILES = [
  ['uqrp', 'docs/operations/monitoring.md', 15],
  ['uqrp.levels', 'docs/operations/service-levels.md', 2],
] as const;

function promtool(...args: readonly string[]): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
  return { code: status, said: `${stdout}${stderr}` };
}

function sources(): string {
  return readdirSync(TELEMETRY)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(new URL(name, TELEMETRY), 'utf8'))
    .join('\n');
}

const METRICS = new Set([...sources().matchAll(/'(uqrp_\w+)'/g)].map(([, metric]) => metric!));

/** Those that prom-client makes by itself. */
const STANDARD = /^uqrp_(?:process|nodejs)_/;

/** Names of the text that no metric of the program has. */
function unknownMetrics(text: string): string[] {
  return [...text.matchAll(/\buqrp_[a-z_]+/g)]
    .map(([name]) => name)
    .filter(
      (name) =>
        !STANDARD.test(name) &&
        !METRICS.has(name) &&
        !METRICS.has(name.replace(/_(?:bucket|count|sum)$/, '')),
    );
}

const missing =
  promtool('--version').code === 0 ? false : 'promtool is missing (Debian: apt-get install prometheus)';

for (const [name, page, least] of FILES) {
  const rules = textOf(`docs/alerts/${name}.rules.yml`);
  const tests = textOf(`docs/alerts/${name}.rules.test.yml`);
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, alert]) => alert!);
  const records = [...rules.matchAll(/- record: ([\w:]+)/g)].map(([, record]) => record!);

  describe(`docs/alerts/${name}.rules.yml`, () => {
    it('uses only metrics that the program has, and only bounds that their buckets have', () => {
      const source = sources();
      assert.ok([...rules.matchAll(/\buqrp_\w+/g)].length >= alerts.length);
      assert.deepEqual(unknownMetrics(rules), []);
      for (const [, metric, bound] of rules.matchAll(/(uqrp_\w+)_bucket\{[^}]*le="([\d.]+)"/g)) {
        const constant = new RegExp(`'${metric}'[^}]*?buckets: (\\w+)`).exec(source)?.[1];
        const bounds = new RegExp(`const ${constant} = \\[([^\\]]+)\\]`).exec(source)?.[1] ?? '';
        assert.ok(
          bounds.replaceAll('_', '').split(/,\s*/).includes(bound!),
          `${metric} has no bucket ${bound}`,
        );
      }
    });

    it('has a test in which each alert fires, and a row in the table of its page', () => {
      const text = textOf(page);
      assert.ok(alerts.length >= least);
      for (const alert of alerts) {
        assert.match(tests, new RegExp(`alertname: ${alert}\\n +exp_alerts:`), alert);
        assert.match(text, new RegExp(`^\\| \`${alert}\` \\|`, 'm'), alert);
      }
    });

    it('is valid, and its tests pass', { skip: missing }, () => {
      const checked = promtool('check', 'rules', `${name}.rules.yml`);
      const tested = promtool('test', 'rules', `${name}.rules.test.yml`);
      assert.equal(checked.code, 0, checked.said);
      assert.match(checked.said, new RegExp(`${alerts.length + records.length} rules found`));
      assert.equal(tested.code, 0, tested.said);
    });
  });
}

describe('docs/alerts', () => {
  it('records each service level that the page names, and no other over 30 days', () => {
    const named = [...textOf('docs/operations/service-levels.md').matchAll(/`(uqrp:[\w:]+)`/g)].map(
      ([, one]) => one!,
    );
    const recorded = [
      ...textOf('docs/alerts/uqrp.levels.rules.yml').matchAll(/- record: (uqrp:\w+:ratio30d)/g),
    ];
    assert.equal(named.length, 4);
    assert.deepEqual(
      named,
      recorded.map(([, one]) => one),
    );
  });

  it('stand beside pages that name only metrics of the program', () => {
    const pages = globSync('docs/{OPERATIONS,NODES,FEED,SCALE,operations/*}.md', { cwd: ROOT });
    assert.ok(pages.length > 12);
    assert.deepEqual(
      pages.flatMap((page) => unknownMetrics(textOf(page)).map((name) => `${page}: ${name}`)),
      [],
    );
  });

  it('has tests that can fail', { skip: missing }, () => {
    assert.notEqual(promtool('test', 'rules', 'uqrp.rules.yml').code, 0);
  });
});
