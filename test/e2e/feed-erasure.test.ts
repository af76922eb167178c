/** What a broker keeps of a deleted payload, on its disk and in copies of it, and what of that can be read. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { aesGcmEncryption } from '../../src/base/seal.ts';
import type { Bus } from '../../src/feed/bus/bus.ts';
import { openNatsBus } from '../../src/feed/bus/nats/nats-bus.ts';
import { nkeyKeys } from '../../src/feed/bus/nats/nkey.ts';
import { type NodeKeyring, openNodeKeyring } from '../../src/feed/keys/node-keys.ts';
import { openBatch, readRows } from '../../src/feed/message/batch.ts';
import { type FeedKeyRing, feedKey, feedKeyRing, feedVerifier } from '../../src/feed/message/keys.ts';
import { createRpc } from '../../src/feed/message/rpc.ts';
import { type FeedCredentials, parseCredentials, serversOf } from '../../src/feed/ports/credentials.ts';
import { FeedRefusedError } from '../../src/feed/ports/refusal.ts';
import { deriveKey, loadSecret } from '../../src/ops/config/data-dir.ts';
import { openStore } from '../../src/store/open.ts';
import { FEED_KEYS_LABEL, feedKeyStore } from '../../src/store/server-keys.ts';
import { runCli } from '../support/command.ts';
import { inState } from '../support/feed/bus/bus-suite.ts';
import { natsMissing, startNats } from '../support/feed/bus/nats-server.ts';
import { natsWorld } from '../support/feed/bus/nats-world.ts';
import { type ManyNodes, startManyNodes } from '../support/feed/many-nodes.ts';
import { filesOf } from '../support/files-of.ts';
import { account } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

const SKIP = natsMissing() ?? false;
const SECRET = 'the deleted payload '.repeat(20);

const holds = (dir: string, octets: Uint8Array | string): boolean =>
  filesOf(dir).some((file) => file.includes(octets));

/** Inside a message, where no header repeats. */
const middleOf = (message: Uint8Array): Uint8Array =>
  message.subarray(message.length - 120, message.length - 70);

describe('the files of nats-server', { skip: SKIP }, () => {
  it('hold nothing of streams that were erased, and nothing of a part that was deleted', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    try {
      const bus = world.open();
      await inState(bus, 'connected');
      const [message, part, other] = [randomBytes(4_000), randomBytes(4_000), randomBytes(4_000)];
      await bus.append(message, 0);
      await bus.putChunk('s1.1', part);
      await bus.putChunk('s1.2', other);
      const found = async (): Promise<boolean[]> =>
        [message, part, other].map((octets) => holds(server.dir, middleOf(octets)));
      await eventually(async () => (await found()).every(Boolean));
      await bus.deleteChunk('s1.1');
      await eventually(async () => (await found()).join() === 'true,false,true');
      await bus.eraseStreams();
      await eventually(async () => (await found()).join() === 'false,false,false');
    } finally {
      await world.close();
    }
  });
});

describe('uqrp feed erase', { skip: SKIP }, () => {
  it('makes a deleted payload unreadable: on disk, in copies, and for a node that was removed', async () => {
    const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
    const opened: { stop(): Promise<void> }[] = [];
    try {
      const control = await world.start(world.controlEnv);
      const node = await world.start(await world.nodeEnv('fra1'));
      const customer = account(control);
      await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      control.cli(['namespace', 'public-read', 'acme', 'on']);
      const put = async (key: string, text: string): Promise<string> => {
        const record = { key: `${key}.acme.v1`, data: Buffer.from(text).toString('base64') };
        const { status, body } = await customer.call('POST', '/records', { record });
        assert.equal(status, 201);
        return (body as { id: string }).id;
      };
      await put('kept', 'kept');
      const doomed = await put('doomed', SECRET);
      await eventually(async () => (await read(node, 'get.doomed.acme.v1')).payload === SECRET);

      // Somebody has copied the broker's disk, and has the credentials of a node with its keys.
      const operator = await connected(parseCredentials(readFileSync(world.feed.control, 'utf8')), opened);
      const stolen = parseCredentials(
        readFileSync(`${(await world.nodeEnv('old1')).UQRP_FEED_CREDENTIALS}`, 'utf8'),
      );
      const thief = await thiefOf(stolen, opened);
      await eventually(async () => (await textsIn(operator, thief, stolen)).includes(SECRET));
      const copies = (await operator.readFrom(1, 1_000)).map(({ data }) => data);
      assert.ok(copies.some((copy) => holds(world.broker.dir, middleOf(copy))));
      await command(world, 'snapshot');
      // A manifest has the same fields again; the parts have the payloads.
      const chunks = (await operator.chunkNames()).filter((name) => !name.includes('manifest'));
      const parts = await Promise.all(chunks.map(async (name) => (await operator.getChunk(name))!));
      assert.ok(parts.some((part) => holds(world.broker.dir, middleOf(part))));

      await customer.call('DELETE', `/records/${doomed}`);
      await eventually(async () => (await read(node, 'get.doomed.acme.v1')).payload === null);
      // A backup between delete and erase, with the secret beside the database.
      const backup = join(world.feed.dir, '..', 'backup');
      const made = await runCli(['backup', backup], { UQRP_DATA_DIR: control.dataDir });
      assert.equal(made.code, 0, made.errors);
      await runCli(['node', 'remove', 'old1', '--feed', world.feed.dir], {});
      await world.broker.reload();
      const began = performance.now();
      assert.match(await command(world, 'erase'), /nothing that was sent before can be read/);
      assert.ok(performance.now() - began < 60_000, 'within a minute');

      const isOnDisk = (copy: Uint8Array): boolean => holds(world.broker.dir, middleOf(copy));
      // The broker removes files in the background.
      await eventually(async () => !copies.some(isOnDisk), 30_000);
      await eventually(async () => !parts.some(isOnDisk), 30_000);
      const fresh = await thiefOf(
        parseCredentials(readFileSync(`${(await world.nodeEnv('fra1')).UQRP_FEED_CREDENTIALS}`, 'utf8')),
        opened,
      );
      const kept = await keysIn(backup);
      for (const copy of copies) {
        for (const ring of [fresh.ring(), kept])
          assert.equal(reasonOf(copy, ring, stolen), 'key', 'no key opens a copy');
      }
      for (const { dataDir } of [control, node]) {
        await eventually(
          async () => !holds(dataDir, SECRET) && !holds(dataDir, Buffer.from(SECRET).toString('base64')),
        );
      }
      // The others notice nothing, and the removed one cannot read on.
      await put('later', 'later');
      await eventually(async () => (await read(node, 'get.later.acme.v1')).payload === 'later');
      assert.equal((await read(node, 'get.kept.acme.v1')).payload, 'kept');
      await eventually(async () => (await operator.readLast()) !== null);
      const last = (await operator.readLast())!.data;
      assert.equal(reasonOf(last, thief.ring(), stolen), 'key');
      assert.equal(reasonOf(last, fresh.ring(), stolen), 'read');
      const late = await world.start(await world.nodeEnv('ams1'));
      await eventually(async () => (await read(late, 'get.later.acme.v1')).payload === 'later');
      assert.equal((await read(late, 'get.doomed.acme.v1')).payload, null);
    } finally {
      for (const each of opened.toReversed()) await each.stop();
      await world.close();
    }
  });

  it('says what cannot be reached', async () => {
    const world = await startManyNodes();
    try {
      const env = commandEnv(world);
      const noControl = await runCli(['feed', 'erase'], env);
      assert.deepEqual([noControl.code, noControl.out], [1, '']);
      assert.match(noControl.errors, /no control process answers/);
      const noBroker = await runCli(['feed', 'epoch', 'new'], {
        ...env,
        UQRP_FEED_URL: 'nats://127.0.0.1:9',
      });
      assert.deepEqual([noBroker.code, noBroker.out], [1, '']);
      assert.match(noBroker.errors, /the broker at 127\.0\.0\.1:9 cannot be reached/);
      const noCredentials = await runCli(['feed', 'erase'], {
        ...env,
        UQRP_FEED_URL: '',
        UQRP_FEED_CREDENTIALS: '',
      });
      assert.equal(noCredentials.code, 2);
      assert.match(noCredentials.errors, /UQRP_FEED_CREDENTIALS/);
      assert.equal((await runCli(['feed', 'epoch', 'old'], env)).code, 2);
    } finally {
      await world.close();
    }
  });
});

describe('uqrp feed epoch new', { skip: SKIP }, () => {
  it('every node builds its view again, and answers meanwhile', async () => {
    const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
    const opened: { stop(): Promise<void> }[] = [];
    try {
      const control = await world.start(world.controlEnv);
      const node = await world.start(await world.nodeEnv('fra1'));
      const customer = account(control);
      await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      control.cli(['namespace', 'public-read', 'acme', 'on']);
      const record = { key: 'a.acme.v1', data: Buffer.from('one').toString('base64') };
      await customer.call('POST', '/records', { record });
      const answer = async (key: string) => (await read(node, `get.${key}.acme.v1`)).payload;
      await eventually(async () => (await answer('a')) === 'one');
      const operator = parseCredentials(readFileSync(world.feed.control, 'utf8'));
      const bus = await connected(operator, opened);
      await eventually(async () => (await bus.readLast()) !== null);
      const before = (await bus.readLast())!.data;
      assert.equal(reasonOf(before, await keysIn(control.dataDir), operator), 'read');
      const epochOf = async (): Promise<boolean> => holds(join(node.dataDir, 'view'), epoch);
      const { epoch } = JSON.parse(await command(world, 'epoch', 'new', '--json')) as { epoch: string };
      await eventually(async () => {
        assert.equal(await answer('a'), 'one');
        return epochOf();
      });
      const later = { key: 'b.acme.v1', data: Buffer.from('two').toString('base64') };
      await customer.call('POST', '/records', { record: later });
      await eventually(async () => (await answer('b')) === 'two');
      const keys = await keysIn(control.dataDir);
      assert.equal(reasonOf(before, keys, operator), 'key');
      await eventually(async () => reasonOf((await bus.readLast())!.data, keys, operator) === 'read');
    } finally {
      for (const each of opened.toReversed()) await each.stop();
      await world.close();
    }
  });
});

function commandEnv({ broker, feed }: ManyNodes): NodeJS.ProcessEnv {
  return { UQRP_FEED_URL: `nats://${broker.address}`, UQRP_FEED_CREDENTIALS: feed.control };
}

async function command(world: ManyNodes, ...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await runCli(['feed', ...args], commandEnv(world));
  assert.equal(code, 0, errors);
  return out;
}

async function connected(credentials: FeedCredentials, opened: { stop(): Promise<void> }[]): Promise<Bus> {
  const bus = openNatsBus({ ...serversOf(credentials), streams: null, onError: () => {} });
  opened.push({ stop: () => bus.close() });
  await inState(bus, 'connected');
  return bus;
}

/** Somebody with the credentials of a node: gets the keys that the node gets. */
async function thiefOf(
  credentials: FeedCredentials,
  opened: { stop(): Promise<void> }[],
): Promise<NodeKeyring> {
  const bus = await connected(credentials, opened);
  const verifier = verifierOf(credentials);
  const rpc = createRpc({
    bus,
    name: credentials.name,
    signing: { signer: nkeyKeys(credentials.seed)!.signer, random: randomBytes },
    verifier,
    presentKey: () => null,
    ring: () => feedKeyRing([]),
    clock: Date.now,
  });
  const keyring = openNodeKeyring({
    bus,
    rpc,
    verifier,
    own: { node: credentials.name, privateKey: createPrivateKey(credentials.decrypt ?? '') },
  });
  opened.push(keyring);
  await keyring.ready;
  return keyring;
}

/** The hourly keys that a data directory or a backup of it holds. */
async function keysIn(folder: string): Promise<FeedKeyRing> {
  const store = await openStore({ dataDir: folder, databaseUrl: null, clock: Date.now });
  try {
    const key = deriveKey(loadSecret(folder, null, false), FEED_KEYS_LABEL, 32);
    const rows = await feedKeyStore(store, aesGcmEncryption(key, randomBytes, 0)).read();
    return feedKeyRing(rows.map(({ secret }) => feedKey(secret)));
  } finally {
    await store.close();
  }
}

const verifierOf = ({ verify }: FeedCredentials) => feedVerifier(verify.map((pem) => createPublicKey(pem)));

function reasonOf(message: Uint8Array, ring: FeedKeyRing, credentials: FeedCredentials): string {
  try {
    readRows(openBatch(message, verifierOf(credentials)), ring);
    return 'read';
  } catch (error) {
    if (error instanceof FeedRefusedError) return error.reason;
    throw error;
  }
}

/** Payloads in the stream that this keyring opens. */
async function textsIn(bus: Bus, keyring: NodeKeyring, credentials: FeedCredentials): Promise<string[]> {
  const verifier = verifierOf(credentials);
  const messages = await bus.readFrom(1, 1_000);
  return messages.flatMap(({ data }) => {
    const rows = readRows(openBatch(data, verifier), keyring.ring());
    return rows.flatMap((row) => ('data' in row ? [Buffer.from(`${row.data}`, 'base64').toString()] : []));
  });
}
