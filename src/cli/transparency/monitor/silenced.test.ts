import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { KEY } from '../../../../test/support/cli/silent-acts.ts';
import { WatchedOperator } from '../../../../test/support/cli/watched-operator.ts';
import { InputError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { manifestTxt } from '../../../protocol/datasets/manifest.ts';
import { readPolicy } from '../../../protocol/transparency/signatures.ts';
import { type Alarm, evidenceName } from './alarms.ts';
import { createMonitor, type Monitor } from './monitor.ts';
import type { ServedSources } from './served.ts';
import { readBelow, servedDatasets, witnessesThere } from './sources.ts';
import { openStateFolder, type StateFolder } from './state-folder.ts';

const never = new AbortController().signal;

describe('a monitor that is to be silenced, or to cry without a reason', () => {
  let folder: string;
  let operator: WatchedOperator;
  let server: Awaited<ReturnType<WatchedOperator['start']>>;
  let policy: string;
  let alarms: Alarm[];
  let areWitnessesThere: boolean;
  /** Milliseconds that are added to the clock. */
  let later: number;

  beforeEach(async () => {
    areWitnessesThere = true;
    later = 0;
    alarms = [];
    folder = mkdtempSync(join(tmpdir(), 'uqrp-monitor-'));
    operator = new WatchedOperator();
    operator.addKey(KEY);
    operator.publish(operator.manifest('sample', '1.0.0', KEY));
    operator.publish(operator.manifest('sample', '1.1.0', KEY));
    server = await operator.start();
    policy = operator.policy(server.url);
  });
  afterEach(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  function open(options: { state?: StateFolder } & Partial<ServedSources> = {}): Monitor {
    const read = readPolicy(policy);
    assert.ok(read.ok);
    const state = options.state ?? openStateFolder(join(folder, 'state'), LIMITS.monitorEvidence);
    return createMonitor({
      log: read.policy.logs[0]!,
      policy: read.policy,
      state,
      now: () => Date.now() + later,
      pause: async (ms) => {
        later += ms;
      },
      read: (path, max) => readBelow(`${server.url}/${path}`, max, never),
      areWitnessesThere: async () => areWitnessesThere,
      remark: () => {},
      sources: {
        datasets: options.datasets ?? (() => servedDatasets(server.url, never)),
        txt: async (label) => operator.txt(label).map((value) => Buffer.from(value)),
        ...(options.isCached && { isCached: options.isCached }),
      },
      slug: null,
      note: null,
      tell: () => {},
      async raise(one) {
        alarms.push(one);
        state.keepEvidence(evidenceName(one), one.evidence);
      },
    });
  }

  const codes = (): string[] => [...new Set(alarms.map(({ code }) => code))].toSorted();

  it('raises nothing while witnesses are away and entries wait, and what stays once they are back', async () => {
    const monitor = open();
    await monitor.round();
    const size = operator.log.leaves.length;
    operator.size = size;
    operator.publish(operator.manifest('sample', '1.2.0', KEY));
    operator.retire(operator.manifest('sample', '1.0.0', KEY));
    areWitnessesThere = false;
    assert.equal(await monitor.round(), 0, JSON.stringify(alarms));
    // They answer: the log has a moment to be cosigned, in another process too.
    areWitnessesThere = true;
    later += 60_000;
    assert.equal(await open().round(), 0, JSON.stringify(alarms));
    later += 60_000;
    assert.ok((await open().round()) > 0);
    assert.deepEqual(codes(), ['logged_not_served', 'served_not_logged']);
    alarms = [];
    operator.size = null;
    assert.equal(await open().round(), 0, JSON.stringify(alarms));
    assert.ok(!readdirSync(join(folder, 'state')).includes('waiting'));
  });

  it('does not wait for witnesses that it cannot reach, once they have cosigned since, nor longer than a day', async () => {
    await open().round();
    operator.served.push(operator.manifest('sample', '1.2.0', KEY));
    areWitnessesThere = false;
    assert.equal(await open().round(), 0, JSON.stringify(alarms));
    later += 600_000;
    assert.equal(await open().round(), 0, JSON.stringify(alarms));
    operator.cosignedAt += 600;
    assert.ok((await open().round()) > 0);
    assert.deepEqual(codes(), ['served_not_logged']);
    alarms = [];
    operator.cosignedAt -= 600;
    later += 86_400_000;
    await open().round();
    assert.deepEqual(codes(), ['served_not_logged', 'stale']);
  });

  it('does not wait where the disk keeps no beginning of the wait: it would have no end', async () => {
    await open().round();
    operator.served.push(operator.manifest('sample', '1.2.0', KEY));
    areWitnessesThere = false;
    const kept = openStateFolder(join(folder, 'state'), LIMITS.monitorEvidence);
    const state: StateFolder = {
      ...kept,
      keepWait() {
        throw new InputError('no space left on device');
      },
    };
    for (let round = 0; round < 3; round++) {
      alarms = [];
      await assert.rejects(open({ state }).round(), /no space left on device/);
      assert.deepEqual(codes(), ['served_not_logged']);
    }
    assert.equal(await open().round(), 0, 'it waits again once there is room');
  });

  it('compares the rest where the listing or a name gives no answer, and says so after an hour', async () => {
    const monitor = open();
    await monitor.round();
    operator.dns.set('sample-v-1d0d0', '');
    const http = operator.http.bind(operator);
    operator.http = (path) => (path.startsWith('/api/') ? 'no listing' : http(path));
    await assert.rejects(monitor.round(), /is not JSON/);
    assert.deepEqual(codes(), ['logged_not_served']);
    later += 3_600_000;
    await assert.rejects(monitor.round(), InputError);
    assert.deepEqual(codes(), ['logged_not_served', 'unchecked']);
    alarms = [];
    operator.http = http;
    operator.dns.clear();
    assert.equal(await monitor.round(), 0, JSON.stringify(alarms));
  });

  it('looks at every value of a name, and at the latest version of the listing itself', async () => {
    const other = operator.manifest('sample', '1.1.0', KEY, 'other items');
    const txt = operator.txt.bind(operator);
    operator.txt = (label) => (label === 'sample-v-1d1d0' ? [...txt(label), manifestTxt(other)] : txt(label));
    await open().round();
    assert.deepEqual(codes(), ['version_replaced']);
    operator.txt = txt;
    alarms = [];
    const http = operator.http.bind(operator);
    operator.http = (path) => {
      const body = http(path);
      if (path !== '/api/v1/datasets') return body;
      const [one] = JSON.parse(String(body)) as [{ latest: object }];
      return JSON.stringify([{ ...one, latest: { ...one.latest, ...other } }]);
    };
    await open().round();
    assert.deepEqual(codes(), ['version_replaced']);
  });

  it('ends a round whose tiles come slowly, or whose listing has no end', async () => {
    const monitor = open();
    const bundle = operator.http.bind(operator);
    operator.log.append(...Array.from({ length: 600 }, (_, i) => `entry ${i}`));
    operator.http = (path) => {
      if (path.startsWith('/log/tile/')) later += LIMITS.monitorRoundMs / 2;
      return bundle(path);
    };
    await assert.rejects(monitor.round(), /were not read within an hour/);
    assert.ok(later < 2 * LIMITS.monitorRoundMs);
    operator.log.leaves.length = 3;
    operator.http = bundle;
    let pages = 0;
    const endless: ServedSources['datasets'] = async () =>
      (async function* () {
        for (; pages < 1000; pages++) {
          later += LIMITS.monitorRoundMs / 10;
          yield { slug: `s-${pages}`, latest: '1.0.0', manifests: [] };
        }
      })();
    await assert.rejects(open({ datasets: endless }).round(), /were not read within an hour/);
    assert.ok(pages <= 10);
  });

  it('looks longer at a listing that a cache gives: it is at most a minute old', async () => {
    let looks = 0;
    const old = operator.versionsOf('sample');
    operator.publish(operator.manifest('sample', '1.2.0', KEY));
    const cached: ServedSources['datasets'] = async () =>
      (async function* () {
        looks += 1;
        const manifests = looks < 32 ? old : operator.versionsOf('sample');
        yield { slug: 'sample', latest: manifests[0]!.version, manifests };
      })();
    assert.equal(await open({ datasets: cached, isCached: () => true }).round(), 0, JSON.stringify(alarms));
    looks = -1000;
    assert.ok((await open({ datasets: cached, isCached: () => true }).round()) > 0);
  });

  it('says after an hour that the listing, which was there, is gone', async () => {
    const monitor = open();
    await monitor.round();
    operator.hasListing = false;
    await assert.rejects(monitor.round(), /no listing of datasets any more/);
    later += 3_600_000;
    await assert.rejects(monitor.round(), InputError);
    assert.deepEqual(codes(), ['unchecked']);
    assert.equal(await open().round(), 0, 'one that never had one has nothing to compare');
  });

  it('tells and keeps a replaced version also behind many other alarms', async () => {
    await open().round();
    for (let i = 0; i < LIMITS.monitorAlarms + 5; i++) operator.log.append(`entry ${i} of no kind`);
    operator.log.append(manifestTxt(operator.manifest('sample', '1.1.0', KEY, 'other items')));
    const state = openStateFolder(join(folder, 'state'), 3);
    await open({ state }).round();
    assert.ok(codes().includes('version_replaced'));
    const kept = readdirSync(join(folder, 'state', 'evidence')).map((name) => name.split('-')[0]!);
    assert.deepEqual(kept.toSorted(), ['entry_wrong', 'entry_wrong', 'entry_wrong', 'version_replaced']);
  });

  it('asks witnesses where the policy says that they are', async () => {
    const there = async (url: string) => {
      const read = readPolicy(operator.policy(server.url).replace(/^(witness w0 \S+)$/m, `$1 ${url}`));
      assert.ok(read.ok);
      return [...(await witnessesThere(read.policy.witnesses, 'api.example.net/log', never))];
    };
    const base = server.url.replace(/\/log$/, '');
    assert.deepEqual(await there(`${base}/w`), ['w0', 'w1', 'w2'], 'also one that answers 404');
    operator.answers = false;
    assert.deepEqual(await there(base), ['w1', 'w2']);
    assert.deepEqual(await there('http://127.0.0.1:1'), ['w1', 'w2']);
  });
});
