import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { MemoryWitness } from '../../../test/support/control/transparency/witness.ts';
import { ConfigError, loadConfig } from './config.ts';

const folder = mkdtempSync(join(tmpdir(), 'uqrp-log-settings-'));
const path = join(folder, 'policy');
const one = new MemoryWitness('one').line;
const two = new MemoryWitness('two').line;

after(() => rmSync(folder, { recursive: true }));

function faultsOf(policy: string | null, more: Readonly<Record<string, string>> = {}): readonly string[] {
  if (policy !== null) writeFileSync(path, policy);
  try {
    loadConfig({
      UQRP_DATASETS_LOG: 'on',
      ...(policy !== null && { UQRP_DATASETS_LOG_POLICY: path }),
      ...more,
    });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
}

describe('the settings of the transparency log', () => {
  it('take a policy whose witnesses have URLs', () => {
    writeFileSync(path, `${one}\n${two}\ngroup all all one two\nquorum all\n`);
    const { datasetsLog } = loadConfig({ UQRP_DATASETS_LOG: 'on', UQRP_DATASETS_LOG_POLICY: path });
    assert.deepEqual(datasetsLog?.own, ['https://one.example', 'https://two.example']);
    assert.match(datasetsLog?.policy ?? '', /^witness one /);
    assert.deepEqual(faultsOf(`${one}\nquorum none\n`), []);
  });

  it('are nothing while the log is off, and on an edge', () => {
    assert.equal(loadConfig({ UQRP_DATASETS_LOG_POLICY: '/nowhere' }).datasetsLog, null);
    const edge = { UQRP_DATASETS_LOG: 'on', UQRP_ROLE: 'edge', UQRP_SYNC: 'off' };
    assert.equal(loadConfig(edge).datasetsLog, null);
  });

  it('need a file that can be read', () => {
    assert.match(faultsOf(null)[0]!, /^UQRP_DATASETS_LOG needs UQRP_DATASETS_LOG_POLICY/);
    const missing = { UQRP_DATASETS_LOG_POLICY: join(folder, 'missing') };
    assert.match(faultsOf(null, missing)[0]!, /cannot be read \(ENOENT\)/);
  });

  it('name every fault at once, with those of other variables', () => {
    const faults = faultsOf('witness x y\nfoo\n', { UQRP_HTTP_PORT: 'x' });
    assert.equal(faults.length, 4);
    assert.match(
      faults.join('\n'),
      /UQRP_HTTP_PORT must be.*\n.*line 1: .*\n.*line 2: foo.*\n.*no quorum line/,
    );
  });

  it('refuse witnesses that cannot be asked, and a quorum that two histories could each find', () => {
    const bare = one.split(' ').slice(0, 3).join(' ');
    const ftp = two.replace('https://', 'ftp://');
    const faults = faultsOf(`${bare}\n${ftp}\ngroup any 1 one two\nquorum any\n`);
    assert.equal(faults.length, 3);
    assert.match(
      faults.join('\n'),
      /witness one needs a URL.*\n.*witness two must be http.*\n.*cosign two histories/,
    );
  });
});
