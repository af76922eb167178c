import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { textOf } from './named-tests.ts';

const FOLDER = fileURLToPath(new URL('../../docs/alerts/', import.meta.url));
const RULES = textOf('docs/alerts/uqrp.rules.yml');
const TESTS = textOf('docs/alerts/uqrp.rules.test.yml');
const ALERTS = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

function promtool(...args: readonly string[]): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
  return { code: status, said: `${stdout}${stderr}` };
}

const missing =
  promtool('--version').code === 0 ? false : 'promtool is missing (Debian: apt-get install prometheus)';

describe('docs/alerts', () => {
  it('uses only metrics that the program has', () => {
    const folder = new URL('../../src/ops/telemetry/', import.meta.url);
    const sources = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const known = new Set(
      sources.flatMap((name) =>
        [...readFileSync(new URL(name, folder), 'utf8').matchAll(/'(uqrp_\w+)'/g)].map(
          ([, metric]) => metric,
        ),
      ),
    );
    const used = [...RULES.matchAll(/\buqrp_\w+/g)].map(([metric]) => metric);
    assert.ok(used.length >= ALERTS.length);
    assert.deepEqual(
      used.filter((metric) => !known.has(metric)),
      [],
    );
  });

  it('has a test in which each alert fires, and a row in the table of monitoring.md', () => {
    const page = textOf('docs/operations/monitoring.md');
    assert.ok(ALERTS.length >= 15);
    for (const alert of ALERTS) {
      assert.match(TESTS, new RegExp(`alertname: ${alert}\\n +exp_alerts:`), alert);
      assert.match(page, new RegExp(`^\\| \`${alert}\` \\|`, 'm'), alert);
    }
  });

  it('is valid, and its tests pass', { skip: missing }, () => {
    const [checked, tested] = [
      promtool('check', 'rules', 'uqrp.rules.yml'),
      promtool('test', 'rules', 'uqrp.rules.test.yml'),
    ];
    assert.equal(checked.code, 0, checked.said);
    assert.match(checked.said, new RegExp(`${ALERTS.length} rules found`));
    assert.equal(tested.code, 0, tested.said);
  });

  it('tests that promtool runs can fail', { skip: missing }, () => {
    const { code } = promtool('test', 'rules', 'uqrp.rules.yml');
    assert.notEqual(code, 0);
  });
});
