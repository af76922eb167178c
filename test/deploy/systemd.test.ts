import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseEnv } from 'node:util';
import { loadConfig } from '../../src/ops/config/config.ts';
import { ENVIRONMENT } from '../../src/ops/config/env.ts';
import { deployPath, deployText, unitValues } from '../support/deploy/unit-file.ts';

const SERVICES = ['uqrp.service', 'uqrp@.service', 'uqrp-backup.service'];
const UNITS = [...SERVICES, 'uqrp-backup.timer'];

/** `systemd-analyze security` from 0 (best) to 10; docs/operations/install.md promises this. */
const EXPOSURE_MAX = 2;

function run(command: string, ...args: readonly string[]): { readonly code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return { code: status, said: `${stdout ?? ''}${stderr ?? ''}` };
}

function exposure(unit: string): number {
  const { said } = run('systemd-analyze', 'security', '--offline=true', '--no-pager', unit);
  const [, level] = /Overall exposure level for \S+: ([\d.]+)/.exec(said) ?? [];
  assert.ok(level !== undefined, said);
  return Number(level);
}

const noSystemd =
  run('systemd-analyze', '--version').code === 0
    ? false
    : 'systemd-analyze is missing (Debian: apt-get install systemd)';

const [, version] = /^systemd (\d+)/.exec(run('systemd-analyze', '--version').said) ?? [];
const oldSystemd = Number(version ?? 0) >= 254 ? false : 'systemd 254 is missing';

describe('deploy/systemd', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-units-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** `verify` wants programs that exist: uqrp is not installed here. */
  function copies(names: readonly string[], edit = (text: string) => text): readonly string[] {
    return names.map((name) => {
      const path = join(folder, name);
      writeFileSync(
        path,
        edit(deployText(`systemd/${name}`)).replace(/^ExecStart=uqrp /m, 'ExecStart=true '),
      );
      return path;
    });
  }

  it('units expose little to the rest of the system', { skip: noSystemd }, () => {
    for (const name of SERVICES) {
      const level = exposure(deployPath(`systemd/${name}`));
      assert.ok(level <= EXPOSURE_MAX, `${name}: ${level}`);
    }
    const bare = join(folder, 'bare.service');
    writeFileSync(bare, '[Service]\nUser=uqrp\nExecStart=true\n');
    assert.ok(exposure(bare) > EXPOSURE_MAX);
  });

  it('units are understood by systemd', { skip: noSystemd }, () => {
    const instance = UNITS.map((name) => name.replace('@.', '@fra1.'));
    copies(UNITS);
    const paths = instance.map((name) => join(folder, name));
    assert.deepEqual(run('systemd-analyze', 'verify', '--man=no', ...paths), { code: 0, said: '' });
    const [broken] = copies(['uqrp.service'], (text) => text.replace('ProtectHome', 'ProtectHouse'));
    assert.match(run('systemd-analyze', 'verify', '--man=no', broken!).said, /ProtectHouse/);
  });

  it('a reload in the first tenth of a second of a start, which kills it, does not leave the server stopped', () => {
    for (const name of ['uqrp.service', 'uqrp@.service'])
      assert.deepEqual(unitValues(deployText(`systemd/${name}`), 'RestartForceExitStatus'), ['SIGHUP'], name);
  });

  it('units never give up: a database or a disk may come back after hours (operator finding 2)', () => {
    for (const name of SERVICES) {
      const text = deployText(`systemd/${name}`);
      assert.deepEqual(unitValues(text, 'StartLimitIntervalSec'), ['0'], name);
      assert.match(unitValues(text, 'After').join(' '), /\bpostgresql\.service\b/, name);
    }
    const pauses = deployText('systemd/restart-pauses.conf');
    for (const name of ['uqrp.service', 'uqrp@.service']) {
      const text = deployText(`systemd/${name}`);
      assert.deepEqual(unitValues(text, 'Restart'), ['on-failure'], name);
      const [first, most] = [unitValues(text, 'RestartSec'), unitValues(pauses, 'RestartMaxDelaySec')];
      assert.ok(Number(first) >= 1 && Number(most) > Number(first), name);
      assert.ok(Number(unitValues(pauses, 'RestartSteps')) > 1);
    }
  });

  it('a drop-in lets the pauses grow, where systemd knows how', { skip: oldSystemd }, () => {
    const [unit] = copies(['uqrp.service']);
    mkdirSync(`${unit}.d`);
    writeFileSync(`${unit}.d/restart-pauses.conf`, deployText('systemd/restart-pauses.conf'));
    assert.deepEqual(run('systemd-analyze', 'verify', '--man=no', unit!), { code: 0, said: '' });
  });

  it('uqrp.sysusers.conf makes the user of the units', { skip: noSystemd }, () => {
    const root = join(folder, 'root');
    mkdirSync(join(root, 'etc'), { recursive: true });
    const { code, said } = run(
      'systemd-sysusers',
      `--root=${root}`,
      deployPath('systemd/uqrp.sysusers.conf'),
    );
    assert.equal(code, 0, said);
    const users = run('cat', join(root, 'etc/passwd')).said;
    for (const name of SERVICES) {
      const [user] = unitValues(deployText(`systemd/${name}`), 'User');
      assert.match(users, new RegExp(`^${user}:`, 'm'));
    }
  });

  it('uqrp.env and the units set variables that the server takes', () => {
    const set = parseEnv(deployText('systemd/uqrp.env'));
    for (const name of SERVICES)
      for (const pair of unitValues(deployText(`systemd/${name}`), 'Environment'))
        assert.ok((pair.split('=')[0] ?? '') in ENVIRONMENT, pair);
    assert.ok(Object.keys(set).length >= 8);
    for (const name of Object.keys(set)) assert.ok(name in ENVIRONMENT, name);
    const config = loadConfig(set as NodeJS.ProcessEnv);
    assert.equal(config.dnsPort, 53);
    assert.throws(() => loadConfig({ ...set, UQRP_NS: 'ns1' } as NodeJS.ProcessEnv), /UQRP_NS/);
  });
});
