import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { WatchedOperator } from '../support/cli/watched-operator.ts';
import { CLI, type Ended, ended, runCli, startCommand } from '../support/command.ts';

describe('log audit', () => {
  let folder: string;
  let operator: WatchedOperator;
  let server: Awaited<ReturnType<WatchedOperator['start']>>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-audit-'));
    operator = new WatchedOperator();
    operator.addKey('key');
    operator.publish(operator.manifest('sample', '1.0.0', 'key'));
    operator.publish(operator.manifest('sample', '1.1.0', 'key'));
    server = await operator.start();
    writeFileSync(join(folder, 'policy.txt'), operator.policy(server.url));
  });
  afterEach(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function auditArgs(...more: readonly string[]): readonly string[] {
    const files = ['--policy', join(folder, 'policy.txt'), '--state', join(folder, 'state')];
    const names = ['--server', '127.0.0.1', '--port', String(server.dnsPort)];
    return ['log', 'audit', ...files, ...names, ...more];
  }

  const audit = (...more: readonly string[]): Promise<Ended> => runCli(auditArgs(...more), {});

  /** A monitor with a round each second. */
  function startAudit(...more: readonly string[]) {
    const files = ['--policy', join(folder, 'policy.txt'), '--state', join(folder, 'state')];
    const child = startCommand(
      process.execPath,
      [CLI, 'log', 'audit', ...files, '--every', '1', ...more],
      {},
    );
    const said = { out: '', errors: '' };
    const streams = { out: child.stdout!, errors: child.stderr! };
    for (const name of ['out', 'errors'] as const)
      streams[name].on('data', (part: Buffer) => {
        said[name] += part.toString();
      });
    const exit = once(child, 'exit');
    return {
      async told(name: 'out' | 'errors', what: string | RegExp): Promise<void> {
        while (said[name].search(what) < 0) await once(streams[name], 'data');
      },
      end() {
        child.kill('SIGTERM');
        return exit;
      },
    };
  }

  it('prints what a log published, and later what changed', async () => {
    const first = await audit();
    assert.deepEqual([first.code, first.errors], [0, '']);
    const [key, ...versions] = first.out.split('\n');
    assert.match(key!, /^key_added [0-9a-f]{16} entry 0$/);
    assert.deepEqual(versions, ['published sample 1.0.0 entry 1', 'published sample 1.1.0 entry 2', '']);
    operator.retire(operator.manifest('sample', '1.0.0', 'key'));
    const second = await audit('--json');
    assert.deepEqual(
      [second.code, JSON.parse(second.out)],
      [0, { event: 'retired', slug: 'sample', version: '1.0.0', entry: 3 }],
    );
  });

  it('ends with 1 after an alarm, and gives it to the command of --exec', async () => {
    await audit();
    const before = readFileSync(join(folder, 'state', 'checkpoint'), 'utf8');
    operator.log.leaves[1] = Buffer.from('another past');
    const seen = join(folder, 'seen.json');
    const umask = process.umask(0o026);
    const running = audit('--exec', `cat > ${seen}`);
    process.umask(umask);
    const { code, out } = await running;
    assert.equal(code, 1);
    // Of the shell, and not ours: who collects metrics from such a file is another user.
    assert.equal(statSync(seen).mode & 0o777, 0o640);
    assert.match(
      out,
      /^alarm two_histories: the log signed size 3, .* \(evidence: .*\/evidence\/two_histories-[0-9a-f]{16}\)\n$/,
    );
    const told = JSON.parse(readFileSync(seen, 'utf8')) as { alarm: string; evidence: string };
    assert.equal(told.alarm, 'two_histories');
    assert.deepEqual(readdirSync(told.evidence).toSorted(), ['held.checkpoint', 'shown.checkpoint']);
    assert.equal(readFileSync(join(told.evidence, 'held.checkpoint'), 'utf8'), before);
    assert.equal(readFileSync(join(told.evidence, 'shown.checkpoint'), 'utf8'), operator.note());
  });

  it('gives an alarm to the command of --exec also when the reader of its output has ended (it was not run, exit code 0)', async () => {
    await audit();
    operator.log.leaves[1] = Buffer.from('another past');
    const seen = join(folder, 'seen.json');
    const child = startCommand(process.execPath, [CLI, ...auditArgs('--exec', `cat > ${seen}`)], {});
    child.stdout?.destroy();
    assert.equal((await ended(child)).code, 1);
    assert.equal((JSON.parse(readFileSync(seen, 'utf8')) as { alarm: string }).alarm, 'two_histories');
  });

  it('ends with 1 where the log or the name server does not answer', async () => {
    operator.answers = false;
    const away = await audit();
    assert.equal(away.code, 1);
    assert.match(away.errors, /\/log\/checkpoint answers with HTTP status 503\n$/);
    assert.ok(!existsSync(join(folder, 'state', 'checkpoint')));
  });

  it('compares no DNS answer, and says so, where no name server is named', async () => {
    const files = ['--policy', join(folder, 'policy.txt'), '--state', join(folder, 'state')];
    operator.dns.set('sample', '');
    const { code, errors } = await runCli(['log', 'audit', ...files], {});
    assert.deepEqual([code, errors], [0, 'note: DNS answers are not compared without --server or --port\n']);
  });

  it('goes on with --every, also after an alarm and while the log is away, until SIGTERM', async () => {
    const audited = startAudit();
    await audited.told('out', 'published sample 1.1.0');
    operator.answers = false;
    await audited.told('errors', 'HTTP status 503');
    operator.answers = true;
    operator.served.push(operator.manifest('silent', '1.0.0', 'key'));
    await audited.told('out', 'alarm served_not_logged: REST serves silent 1.0.0');
    operator.publish(operator.manifest('sample', '1.2.0', 'key'));
    await audited.told('out', 'published sample 1.2.0');
    assert.deepEqual(await audited.end(), [1, null]);
  });

  it('raises an alarm whose evidence cannot be written, to --exec too, goes on, and keeps it later (a full disk silenced it)', async () => {
    await audit();
    operator.log.leaves[1] = Buffer.from('another past');
    // A file where the folder should be refuses as a full disk does.
    const evidence = join(folder, 'state', 'evidence');
    writeFileSync(evidence, '');
    const seen = join(folder, 'seen.json');
    const audited = startAudit('--exec', `cat >> ${seen}`);
    const alarm = 'alarm two_histories: .*';
    const unkept = `${alarm}\\(evidence: not kept, it cannot be written\\)\n`;
    await audited.told('out', new RegExp(unkept.repeat(2)));
    await audited.told('errors', /(?:the state folder .*ENOTDIR.*\n){2}/);
    rmSync(evidence);
    await audited.told('out', new RegExp(`${alarm}\\(evidence: .*/two_histories-[0-9a-f]{16}\\)`));
    assert.deepEqual(await audited.end(), [1, null]);
    const [first] = readFileSync(seen, 'utf8').split('\n');
    assert.partialDeepStrictEqual(JSON.parse(first!), { alarm: 'two_histories', evidence: null });
    assert.match(readdirSync(evidence).join(), /^two_histories-[0-9a-f]{16}$/);
  });

  it('ends with 2 for a wrong command line, and with 1 for a file that is no policy', async () => {
    const wrong = [
      ['--every', '0'],
      ['--slug', 'A b'],
      ['--url', 'ftp://example.net/'],
    ];
    for (const line of wrong) assert.equal((await audit(...line)).code, 2, line.join(' '));
    writeFileSync(join(folder, 'policy.txt'), 'quorum none\n');
    assert.equal((await audit()).code, 2);
    writeFileSync(join(folder, 'policy.txt'), 'quorum\n');
    const policy = await audit();
    assert.equal(policy.code, 1);
    assert.match(policy.errors, /policy\.txt is not a policy: line 1: /);
  });
});
