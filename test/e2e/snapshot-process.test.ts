/** The process that makes snapshots, over a broker with the files of `uqrp feed init`. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { realTimers } from '../../src/base/lifecycle/timers.ts';
import { LIMITS } from '../../src/base/limits.ts';
import type { Bus } from '../../src/feed/bus/bus.ts';
import { startFollower } from '../../src/feed/follower/follower.ts';
import type { HourlyKey } from '../../src/feed/keys/hourly-keys.ts';
import { feedKey, feedKeyRing, feedSigner, feedVerifier } from '../../src/feed/message/keys.ts';
import { createRpc } from '../../src/feed/message/rpc.ts';
import { printCredentials } from '../../src/feed/ports/credentials.ts';
import { startPublisher } from '../../src/feed/publish/publisher.ts';
import { startResponder } from '../../src/feed/publish/responder.ts';
import { openBusSource } from '../../src/feed/receive/bus-source.ts';
import {
  type MadeSnapshot,
  type SnapshotChild,
  startSnapshotChild,
} from '../../src/feed/snapshots/child-process.ts';
import { diskFiles } from '../../src/feed/snapshots/shared-files.ts';
import { createSnapshotReader, snapshotSource } from '../../src/feed/snapshots/snapshot-reader.ts';
import { removeSnapshotFiles } from '../../src/process/unused-views.ts';
import { FILE_FORMAT } from '../../src/view/lmdb/tree.ts';
import { openLmdbReader } from '../../src/view/reader.ts';
import { openLmdbWriter } from '../../src/view/writer.ts';
import { signingKeys } from '../support/feed/batch/keys.ts';
import { type BrokerFolder, brokerFolder } from '../support/feed/broker-folder.ts';
import { freeLock, until } from '../support/feed/bus/bus-source-world.ts';
import { inState } from '../support/feed/bus/bus-suite.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { controlEnd, keyOfAny } from '../support/feed/exchange/nodes.ts';
import { createFakeSource } from '../support/feed/fake-source.ts';
import { payloadText } from '../support/view/memory-view.ts';
import { namespaceUpserted, upserted } from '../support/view/view-changes.ts';

const random = (octets: number): Uint8Array => randomBytes(octets);
const hour = (): HourlyKey => ({ key: feedKey(random(32)), from: 0, until: Date.now() + 3_600_000 });

describe('the process that makes snapshots', { skip: natsMissing() ?? false }, () => {
  let broker: BrokerFolder;
  let control: Bus;
  let node: Bus;
  let folder: string;
  const source = createFakeSource(500, Date.now);
  const stops: (() => unknown)[] = [];
  const made: MadeSnapshot[] = [];
  const failing: string[] = [];
  let keys: readonly HourlyKey[] = [hour()];
  let isLeading = true;
  /** By how much time has gone on for the parent alone. */
  let laterMs = 0;
  /** How often the parent has looked: once a second. */
  let looks = 0;
  let child: SnapshotChild;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'snapshot-process-'));
    broker = await brokerFolder('fra1');
    const credentials = broker.credentials('control');
    [control, node] = [broker.open(credentials), broker.open(broker.credentials('fra1'))];
    await Promise.all([inState(control, 'connected'), inState(node, 'connected')]);
    source.write(namespaceUpserted('ns', true));
    source.write(...Array.from({ length: 900 }, (_, i) => upserted(`k${i}.res.ns.v1`)));
    const privateKey = createPrivateKey(credentials.sign!);
    const publicKey = createPublicKey(privateKey);
    const signer = feedSigner(privateKey, publicKey);
    const secrets = () => ({ key: keys.at(-1)!.key, signer, random });
    const common = { source, bus: control, secrets, clock: Date.now };
    const publisher = startPublisher({ ...common, lock: freeLock, verifier: feedVerifier([publicKey]) });
    const stopAnswers = startResponder({
      source,
      end: controlEnd(control, {
        verifierOf: (name) => (name === 'control' ? feedVerifier([publicKey]) : keyOfAny(name)),
        signing: { signer, random },
        secrets,
        clock: Date.now,
      }),
    });
    stops.push(() => publisher.stop(), stopAnswers);
    const geoip = join(folder, 'geoip.mmdb');
    writeFileSync(geoip, 'countries');
    child = startSnapshotChild({
      entry: new URL('../../src/process/snapshot-process.ts', import.meta.url),
      start: {
        credentials: printCredentials(credentials),
        servers: credentials.servers,
        directory: join(folder, 'snapshots'),
        geoip,
        stockMap: join(folder, 'none.json'),
      },
      keys: () => keys,
      isLeading: () => isLeading,
      removeFiles: () => removeSnapshotFiles(join(folder, 'snapshots')),
      timers: {
        after(ms, run) {
          if (ms === 1_000) looks++;
          return realTimers.after(ms, run);
        },
        elapsed: () => realTimers.elapsed() + laterMs,
      },
      onMade: (snapshot) => made.push(snapshot),
      onFailing: (error) => failing.push(error.message),
    });
  });
  after(async () => {
    await child?.stop();
    for (const stop of stops) await stop();
    await broker?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A node that begins with nothing. */
  async function adopt(name: string): Promise<{ downloads: number; cursor: number | null; text: string }> {
    const path = join(folder, name);
    mkdirSync(path);
    const publicKey = createPublicKey(createPrivateKey(broker.credentials('control').sign!));
    const common = {
      bus: node,
      verifier: feedVerifier([publicKey]),
      keys: () => feedKeyRing(keys.map(({ key }) => key)),
    };
    const log = openBusSource({
      ...common,
      rpc: createRpc({
        ...common,
        name: 'fra1',
        signing: { signer: signingKeys(14).signer, random },
        presentKey: () => null,
        ring: common.keys,
        clock: Date.now,
      }),
      clock: Date.now,
    });
    let downloads = 0;
    const view = openLmdbWriter({ path: join(path, 'view') });
    const follower = startFollower({
      source: snapshotSource({
        source: log,
        reader: createSnapshotReader({ ...common, files: diskFiles(join(path, 'incoming')) }),
        format: FILE_FORMAT,
        clock: Date.now,
        onDownloaded: () => downloads++,
      }),
      view,
      clock: Date.now,
    });
    await follower.ready;
    const reader = openLmdbReader({ path: join(path, 'view') });
    const text = payloadText(reader.record('k7.res.ns.v1')) ?? '';
    const cursor = view.cursor();
    await follower.stop();
    log.close();
    await reader.close();
    await view.close();
    return { downloads, cursor, text };
  }

  it('makes one after its start, from pages of control, which a node adopts without any', async () => {
    await until(() => made.length === 1);
    assert.equal(source.calls.openSnapshot, 1);
    assert.deepEqual(await adopt('first'), { downloads: 1, cursor: 901, text: 'k7.res.ns.v1' });
    assert.equal(source.calls.openSnapshot, 1);
    assert.deepEqual(child.last(), made[0]);
  });

  it("has nothing of its parent's environment", () => {
    const pid = readFileSync(join(folder, 'snapshots', 'serve.pid'), 'utf8').trim();
    const names = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .map((each) => each.split('=')[0]);
    assert.deepEqual(
      names.filter((name) => name !== '' && !name?.startsWith('NODE_CHANNEL')),
      [],
    );
  });

  it('makes one on demand, of what was written meanwhile', async () => {
    source.write(upserted('k7.res.ns.v1', 'changed'));
    let snapshot = await child.make();
    while (snapshot.seq < 902) snapshot = await child.make();
    assert.equal(snapshot.seq, 902);
    assert.deepEqual(await adopt('second'), { downloads: 1, cursor: 902, text: 'changed' });
  });

  it('puts the files beside it that control keeps for its nodes', async () => {
    const names = await control.chunkNames();
    assert.ok(names.some((name) => name.startsWith('geoip.manifest')));
    assert.equal(
      names.some((name) => name.startsWith('stock-map')),
      false,
    );
  });

  it('makes another one when the key of the last one is destroyed', async () => {
    const count = made.length;
    keys = [hour()];
    await until(() => made.length > count);
    assert.equal((await adopt('third')).downloads, 1);
  });

  it('is started again when it is killed, and asks control for no pages again', async () => {
    const count = made.length;
    process.kill(Number(readFileSync(join(folder, 'snapshots', 'serve.pid'), 'utf8')), 'SIGKILL');
    await assert.rejects(child.make());
    await until(() => made.length > count);
    assert.ok(failing.some((message) => message.includes('ended')));
    assert.equal(source.calls.openSnapshot, 1, 'its view was still there');
    rmSync(join(folder, 'snapshots', 'view'), { recursive: true });
    const before = made.length;
    process.kill(Number(readFileSync(join(folder, 'snapshots', 'serve.pid'), 'utf8')), 'SIGKILL');
    await until(() => made.length > before);
    assert.equal(source.calls.openSnapshot, 1, 'a snapshot is as good as pages');
  });

  it('begins without the copy and the download that a killed one left', async () => {
    const count = made.length;
    const left = ['copy', 'incoming'].map((name) => join(folder, 'snapshots', name));
    process.kill(Number(readFileSync(join(folder, 'snapshots', 'serve.pid'), 'utf8')), 'SIGKILL');
    await assert.rejects(child.make());
    for (const path of left) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'left'), 'payload');
    }
    await until(() => made.length > count);
    assert.deepEqual(
      left.filter((path) => existsSync(join(path, 'left'))),
      [],
    );
  });

  it('loses its view while the broker is away: deletions do not reach it', async () => {
    const holdsPayload = (): boolean =>
      readdirSync(join(folder, 'snapshots'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes('k500.res.ns.v1'));
    // Until the child has told that its view follows.
    const now = looks;
    await until(() => looks > now + 3);
    laterMs += LIMITS.feedSnapshotBehindSeconds * 1_000;
    await until(() => looks > now + 5);
    assert.ok(holdsPayload(), 'a view that follows stays');
    await broker.server.kill();
    const count = failing.length;
    await until(() => {
      laterMs += 1_000;
      return failing.slice(count).some((message) => message.includes('does not follow'));
    });
    assert.equal(holdsPayload(), false);
  });

  it('ends when its parent leads no more', async () => {
    await until(() => existsSync(join(folder, 'snapshots', 'serve.pid')));
    const pid = Number(readFileSync(join(folder, 'snapshots', 'serve.pid'), 'utf8'));
    isLeading = false;
    const isAlive = (): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await until(() => !isAlive());
    await assert.rejects(child.make(), /does not make snapshots/);
    assert.equal(child.last(), null);
  });
});
