import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hookedFiles } from '../../../../test/support/base/files/hooked-files.ts';
import { createSimulatedDisk } from '../../../../test/support/base/files/simulated-files.ts';
import { KEY, SILENT_ACTS } from '../../../../test/support/cli/silent-acts.ts';
import { WatchedOperator } from '../../../../test/support/cli/watched-operator.ts';
import { mulberry } from '../../../../test/support/feed/bus/feed-world.ts';
import { SmallLog } from '../../../../test/support/protocol/transparency/small-log.ts';
import { InputError } from '../../../base/errors.ts';
import type { Files } from '../../../base/files.ts';
import { LIMITS } from '../../../base/limits.ts';
import { manifestTxt } from '../../../protocol/datasets/manifest.ts';
import { readPolicy } from '../../../protocol/transparency/signatures.ts';
import { TILE_WIDTH, tilePath } from '../../../protocol/transparency/tiles.ts';
import { type Alarm, evidenceName } from './alarms.ts';
import { createMonitor, type LogEvent, type Monitor } from './monitor.ts';
import { readBelow, servedDatasets } from './sources.ts';
import { openStateFolder, type StateFolder } from './state-folder.ts';

const CHANGES = new Set(['write', 'sync', 'rename', 'remove', 'makeFolder', 'syncFolder']);
/** What a full disk refuses. */
const GROWING = new Set(['open', 'write', 'makeFolder', 'rename']);
const never = new AbortController().signal;

describe('a monitor', () => {
  let folder: string;
  let operator: WatchedOperator;
  let server: Awaited<ReturnType<WatchedOperator['start']>>;
  let policy: string;
  let told: string[];
  let alarms: Alarm[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-monitor-'));
    operator = new WatchedOperator();
    operator.addKey(KEY);
    operator.publish(operator.manifest('sample', '1.0.0', KEY));
    operator.publish(operator.manifest('sample', '1.1.0', KEY));
    server = await operator.start();
    policy = operator.policy(server.url);
    told = [];
    alarms = [];
  });
  afterEach(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  function open(options: { note?: string; slug?: string; state?: StateFolder } = {}): Monitor {
    const read = readPolicy(policy);
    assert.ok(read.ok);
    const state = options.state ?? openStateFolder(join(folder, 'state'), LIMITS.monitorEvidence);
    return createMonitor({
      log: read.policy.logs[0]!,
      policy: read.policy,
      state,
      now: Date.now,
      pause: async () => {},
      areWitnessesThere: async () => true,
      remark: () => {},
      read: (path, max) => readBelow(`${server.url}/${path}`, max, never),
      sources: {
        datasets: () => servedDatasets(server.url, never),
        txt: async (label) => operator.txt(label).map((value) => Buffer.from(value)),
      },
      slug: options.slug ?? null,
      note: options.note ?? null,
      tell: (event: LogEvent) =>
        told.push('kid' in event ? event.news : `${event.news} ${event.slug} ${event.version}`),
      async raise(one) {
        alarms.push(one);
        state.keepEvidence(evidenceName(one), one.evidence);
      },
    });
  }

  const codes = (): string[] => [...new Set(alarms.map(({ code }) => code))].toSorted();
  const head = (): string => readFileSync(join(folder, 'state', 'checkpoint'), 'utf8');

  it('tells what a log publishes, once, and raises no alarm while all is well', async () => {
    assert.equal(await open().round(), 0, JSON.stringify(alarms));
    assert.deepEqual(told, ['key_added', 'published sample 1.0.0', 'published sample 1.1.0']);
    assert.equal(head(), operator.note());
    told = [];
    const again = open();
    assert.equal(await again.round(), 0);
    operator.retire(operator.manifest('sample', '1.1.0', KEY));
    operator.addKey(KEY, 1_795_400_000);
    operator.addKey('second key');
    operator.publish(operator.manifest('other', '0.1.0', 'second key'));
    assert.equal(await again.round(), 0, JSON.stringify(alarms));
    assert.deepEqual(told, ['retired sample 1.1.0', 'key_ended', 'key_added', 'published other 0.1.0']);
    assert.deepEqual(alarms, []);
  });

  it('misses no key that the registry publishes no more, because nothing that is served names it', async () => {
    const changed = 1_795_400_000;
    operator.addKey(KEY, changed);
    operator.addKey('second key', null, changed);
    operator.publish(operator.manifest('sample', '1.2.0', 'second key'));
    operator.addKey('key of a publisher');
    operator.publish(operator.manifest('other', '0.1.0', 'key of a publisher'));
    operator.retire(operator.manifest('other', '0.1.0', 'key of a publisher'));
    operator.retire(operator.manifest('sample', '1.0.0', KEY));
    const [first = '', second = ''] = operator.keys;
    operator.keys = [first, second];
    assert.equal(await open().round(), 0, JSON.stringify(alarms));

    operator.keys = [second];
    assert.equal(await open().round(), 1, '1.1.0 names the first key');
    operator.retire(operator.manifest('sample', '1.1.0', KEY));
    assert.equal(await open().round(), 0, JSON.stringify(alarms));

    operator.addKey('newest key', null, changed + 1);
    operator.keys = [second];
    assert.equal(await open().round(), 1, 'the newest key attests what comes next');
    operator.keys = operator.keys.slice(1);
    assert.equal(await open().round(), 2, 'and 1.2.0 names the second');
    assert.deepEqual(codes(), ['logged_not_served']);
  });

  it('does not ask DNS for a logged slug that begins like a token, and compares it over REST', async () => {
    operator.publish(operator.manifest('auth-list', '1.0.0', KEY));
    for (const label of ['auth-list', 'auth-list-v-1d0d0']) operator.dns.set(label, '');
    assert.equal(await open().round(), 0, JSON.stringify(alarms));
    operator.unserve(operator.manifest('auth-list', '1.0.0', KEY));
    assert.equal(await open().round(), 1);
    assert.deepEqual(codes(), ['logged_not_served']);
  });

  it('tells of one dataset alone', async () => {
    operator.publish(operator.manifest('other', '0.1.0', KEY));
    operator.unserve(operator.manifest('other', '0.1.0', KEY));
    assert.equal(await open({ slug: 'sample' }).round(), 0);
    assert.deepEqual(told, ['key_added', 'published sample 1.0.0', 'published sample 1.1.0']);
  });

  for (const [what, [expected, act]] of Object.entries(SILENT_ACTS)) {
    it(`raises ${expected.join(' and ')} where ${what}, and keeps the evidence`, async () => {
      const monitor = open();
      assert.equal(await monitor.round(), 0, JSON.stringify(alarms));
      const before = head();
      act(operator);
      const count = await monitor.round();
      assert.deepEqual(codes(), expected, JSON.stringify(alarms));
      assert.equal(count, alarms.length);
      const kept = readdirSync(join(folder, 'state', 'evidence'));
      assert.equal(kept.length, alarms.length);
      for (const { code, evidence } of alarms) {
        const at = join(folder, 'state', 'evidence', kept.find((name) => name.startsWith(code))!);
        assert.deepEqual(readdirSync(at).toSorted(), Object.keys(evidence).toSorted());
      }
      if (['two_histories', 'shrunk', 'checkpoint_untrusted'].includes(expected[0]!)) {
        assert.equal(head(), before, 'what is not a continuation is not taken over');
        assert.equal(alarms[0]!.evidence['held.checkpoint'], before);
      }
      // The next round, of another process, begins with the same folder.
      alarms = [];
      await open().round();
      assert.equal(
        readdirSync(join(folder, 'state', 'evidence')).length,
        kept.length,
        'equal evidence is kept once',
      );
    });
  }

  it('keeps both notes and the entries of a split, and finds it from either side', async () => {
    const history = (last: string): SmallLog =>
      new SmallLog([...operator.log.leaves, 'a', 'b', 'c', last], operator.log.origin);
    const [one, other] = [history('one'), history('other')];
    other.append('more');
    operator.log = one;
    operator.hasListing = false;
    operator.dns.set('keys', '');
    const others = other.note();
    await open({ note: others }).round();
    const [split] = alarms.filter(({ code }) => code === 'two_histories');
    assert.deepEqual(
      [split?.evidence['held.checkpoint'], split?.evidence['compared.checkpoint']],
      [operator.note(), others],
    );
    assert.match(split!.text, /size 8 .* from size 7$/);
    alarms = [];
    const ones = operator.note();
    operator.log = other;
    rmSync(join(folder, 'state'), { recursive: true });
    await open({ note: ones }).round();
    const [found] = alarms.filter(({ code }) => code === 'two_histories');
    assert.equal(found?.evidence['compared.checkpoint'], ones);
  });

  it('finds nothing in an older note of the same history, and refuses one that the log has not signed', async () => {
    assert.equal(await open({ note: operator.log.note(2) }).round(), 0);
    assert.equal(await open({ note: operator.note() }).round(), 0);
    const foreign = new SmallLog(operator.log.leaves, 'other.example/log').note();
    await assert.rejects(open({ note: foreign }).round(), /is not signed by api\.example\.net\/log/);
  });

  it('waits for what is a moment late, and raises no alarm for it', async () => {
    const monitor = open();
    await monitor.round();
    const size = operator.log.leaves.length;
    operator.publish(operator.manifest('sample', '1.2.0', KEY));
    operator.size = size;
    const note = operator.note.bind(operator);
    let asked = 0;
    // The signer has it at the second look.
    operator.note = () => {
      asked += 1;
      if (asked > 2) operator.size = null;
      return note();
    };
    assert.equal(await monitor.round(), 0, JSON.stringify(alarms));
    assert.ok(told.includes('published sample 1.2.0'));
  });

  it('says that it is stale also while the log does not answer', async () => {
    operator.cosignedAt -= 86_460;
    const monitor = open();
    await monitor.round();
    alarms = [];
    operator.answers = false;
    await assert.rejects(monitor.round(), InputError);
    assert.deepEqual(codes(), ['stale']);
  });

  it('follows a log of many bundles, and finds one changed leaf of them', async () => {
    operator.log.append(
      ...Array.from({ length: 700 }, (_, i) => operator.manifest('many', `1.0.${i}`, KEY)).map(manifestTxt),
    );
    operator.hasListing = false;
    const monitor = open({ slug: 'sample' });
    assert.equal(await monitor.round(), 0, JSON.stringify(alarms));
    const size = operator.log.leaves.length;
    operator.publish(operator.manifest('sample', '1.2.0', KEY));
    assert.equal(await open({ slug: 'sample' }).round(), 0, JSON.stringify(alarms));
    const files = readdirSync(join(folder, 'state', 'tile', 'entries'));
    assert.deepEqual(files.toSorted(), ['000', '001', '002.p']);
    assert.deepEqual(readdirSync(join(folder, 'state', 'tile', 'entries', '002.p')), [
      String(size + 1 - 512),
    ]);
    operator.log.leaves[300] = Buffer.from('changed');
    operator.log.append('more');
    await open({ slug: 'sample' }).round();
    assert.deepEqual(codes(), ['two_histories']);
  });

  it('refuses a folder whose entries are not those of its checkpoint', async () => {
    await open().round();
    const file = join(folder, 'state', 'tile', 'entries', '000.p', '3');
    const octets = readFileSync(file);
    octets[10]! ^= 1;
    writeFileSync(file, octets);
    await assert.rejects(open().round(), /are not those of its checkpoint/);
    rmSync(file);
    await assert.rejects(open().round(), /lacks entries from 0 on/);
  });

  it('loses nothing in a crash at any write: the next round tells and keeps what this one had not', async () => {
    // Nearly a full bundle: the entries that follow fill it.
    for (let i = 0; i < 252; i++) operator.addKey(`key ${i}`);
    operator.hasListing = false;
    operator.dns.set('keys', '');
    const first = operator.log.leaves.length;
    const act = operator.manifest('sample', '1.1.0', KEY, 'other items');
    const crashes = new Set<string>();
    for (let at = 1; ; at++) {
      const disk = createSimulatedDisk({ random: mulberry(at), now: Date.now });
      const openOn = (files: Files): StateFolder => openStateFolder('/state', LIMITS.monitorEvidence, files);
      operator.log.leaves.length = first;
      await open({ slug: 'sample', state: openOn(disk.files()) }).round();
      // One more, and one against the rules.
      const fine = operator.manifest('sample', `3.0.${at}`, KEY);
      operator.log.append(manifestTxt(fine), manifestTxt(act));
      told = [];
      alarms = [];
      let changes = 0;
      const dying = hookedFiles(disk.files(), ({ call, paths }) => {
        if (!CHANGES.has(call)) return undefined;
        changes += 1;
        if (changes < at) return undefined;
        crashes.add(`${call} ${paths[0]!.replace(/\.draft-.*|[0-9a-f]{8,}.*/, '')}`);
        throw new Error('crash');
      });
      const crashed = await open({ slug: 'sample', state: openOn(dying) })
        .round()
        .then(
          () => false,
          (error: unknown) => String(error).includes('crash'),
        );
      disk.powerLoss();
      const state = openOn(disk.files());
      // As `uqrp log recover` reads it: the bundles that the checkpoint names are there.
      const size = Number(state.head()!.split('\n')[1]);
      const last = tilePath({
        level: 'entries',
        n: Math.floor((size - 1) / TILE_WIDTH),
        width: ((size - 1) % TILE_WIDTH) + 1,
      });
      assert.ok(disk.files().facts(`/state/${last}`) !== null, `${last} after a crash at change ${at}`);
      await open({ slug: 'sample', state }).round();
      assert.ok(told.includes(`published sample 3.0.${at}`), `told after a crash at change ${at}`);
      assert.ok(codes().includes('version_replaced'));
      assert.equal(state.head(), operator.note());
      const evidence = disk.files().list('/state/evidence');
      assert.ok(evidence.some((name) => /^version_replaced-[0-9a-f]{16}$/.test(name)));
      assert.equal([...state.entries(0, first + 2)].length, first + 2);
      if (!crashed) break;
    }
    assert.ok(crashes.has('rename /state/checkpoint'), [...crashes].join('\n'));
  });

  /** What is done, what the disk refuses, and whether the log is followed afterwards. */
  const REFUSED: Readonly<Record<string, readonly [string, () => void, RegExp]>> = {
    'an entry against the rules': [
      'version_replaced',
      () => operator.log.append(manifestTxt(operator.manifest('sample', '1.1.0', KEY, 'other items'))),
      // A bundle comes first: without it nothing is known of the entry.
      /^\/state\/(?!tile\/)/,
    ],
    'what is served and was never logged': [
      'served_not_logged',
      () => {
        operator.addKey('second key');
        operator.served.push(operator.manifest('silent', '1.0.0', KEY));
      },
      /^\/state\/(?!tile\/)/,
    ],
    'another history': [
      'two_histories',
      () => {
        operator.log.leaves[1] = Buffer.from('another past');
        operator.log.append('more');
      },
      /^\/state\//,
    ],
  };
  for (const [what, [code, act, refused]] of Object.entries(REFUSED)) {
    it(`raises its alarm of ${what} on a full disk, in each round, and keeps the evidence once there is room (a full disk silenced it)`, async () => {
      const leaves = [...operator.log.leaves];
      const { served, keys } = operator;
      for (let at = 1, isFull = true; isFull; at++) {
        operator.log.leaves.splice(0, Number.POSITIVE_INFINITY, ...leaves);
        Object.assign(operator, { served: [...served], keys });
        const disk = createSimulatedDisk({ random: mulberry(at), now: Date.now });
        const openOn = (files: Files): StateFolder => openStateFolder('/state', 1, files);
        await open({ state: openOn(disk.files()) }).round();
        act();
        let writes = 0;
        const full = hookedFiles(disk.files(), ({ call, paths }) => {
          if (!GROWING.has(call) || !refused.test(paths.at(-1)!)) return undefined;
          writes += 1;
          if (writes < at) return undefined;
          throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
        });
        // Of one process, and each of another one.
        const going = open({ state: openOn(full) });
        for (const round of [going, going, going, open({ state: openOn(full) })]) {
          alarms = [];
          const told = await round.round().then(
            () => null,
            (error: unknown) => error,
          );
          assert.ok(told === null || told instanceof InputError, String(told));
          assert.deepEqual(codes(), [code], `write ${at}: ${String(told)}`);
          isFull = told !== null;
          if (!isFull) break;
        }
        const state = openOn(disk.files());
        await open({ state }).round();
        const [kept, ...others] = disk.files().list('/state/evidence');
        assert.match(kept!, new RegExp(`^${code}-[0-9a-f]{16}$`));
        assert.deepEqual(others, [], `write ${at}: a draft is left`);
        if (code !== 'two_histories') assert.equal(state.head(), operator.note());
      }
    });
  }

  it('bounds what it prints of one round', async () => {
    await open().round();
    for (let i = 0; i < LIMITS.monitorAlarms + 5; i++) operator.log.append(`entry ${i} of no kind`);
    const count = await open().round();
    assert.equal(count, LIMITS.monitorAlarms + 5);
    assert.equal(alarms.length, LIMITS.monitorAlarms);
  });
});
