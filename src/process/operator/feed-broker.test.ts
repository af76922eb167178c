import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type BrokerFolder, brokerFolder, rawConnection } from '../../../test/support/feed/broker-folder.ts';
import { inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { controlEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { createFakeSource } from '../../../test/support/feed/fake-source.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { type Bus, SUBJECTS } from '../../feed/bus/bus.ts';
import { nkeyKeys } from '../../feed/bus/nats/nkey.ts';
import { writeHead } from '../../feed/message/batch.ts';
import { feedKey, feedSigner, feedVerifier } from '../../feed/message/keys.ts';
import { type FeedCredentials, isControl, isOfNode } from '../../feed/ports/credentials.ts';
import { startResponder } from '../../feed/publish/responder.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import type { Finding } from './checks.ts';
import { checkBroker } from './feed-broker.ts';

const NOW = Date.UTC(2026, 0, 1);
const EVERYTHING = ['broker', 'broker stream', 'broker clock', 'broker questions', 'broker permissions'];

describe('doctor at the broker', { skip: natsMissing() ?? false }, () => {
  let broker: BrokerFolder;
  let control: Bus;
  let stopAnswers: () => void;
  /** Of the present heartbeats. */
  let head: Uint8Array = new Uint8Array(0);

  function settings(credentials: FeedCredentials, servers = credentials.servers): FeedSettings {
    const at = { servers, file: 'a.creds' };
    if (isControl(credentials)) return { end: 'control', ...at, credentials };
    assert.ok(isOfNode(credentials));
    return { end: 'node', ...at, credentials };
  }
  const signerOf = ({ sign }: FeedCredentials) => {
    const key = createPrivateKey(sign!);
    return feedSigner(key, createPublicKey(key));
  };
  /** What is found while heartbeats are sent. */
  async function look(feed: FeedSettings | null): Promise<readonly Finding[]> {
    const beat = setInterval(() => control.publish(SUBJECTS.head, head), 20);
    try {
      return await checkBroker(feed, () => NOW);
    } finally {
      clearInterval(beat);
    }
  }
  const found = (findings: readonly Finding[], check: string): Finding => {
    const finding = findings.find((one) => one.check === check);
    assert.ok(finding !== undefined, JSON.stringify(findings));
    return finding;
  };
  function beatAt(at: number, credentials = broker.credentials('control')): void {
    head = writeHead(
      { epoch: 'e', head: 3, oldest: 1, at },
      { signer: signerOf(credentials), random: randomBytes },
    );
  }

  before(async () => {
    broker = await brokerFolder('fra1', 'ams1');
    const credentials = broker.credentials('control');
    control = broker.open(credentials);
    await inState(control, 'connected');
    const secrets = { key: feedKey(randomBytes(32)), signer: signerOf(credentials), random: randomBytes };
    stopAnswers = startResponder({
      source: createFakeSource(),
      end: controlEnd(control, {
        verifierOf: () => feedVerifier([nkeyKeys(broker.credentials('fra1').seed)!.publicKey]),
        signing: secrets,
        secrets: () => secrets,
        clock: () => NOW,
      }),
    });
    beatAt(NOW);
  });
  after(async () => {
    stopAnswers?.();
    await broker?.close();
  });

  it('finds nothing wrong for a node, nor for control', async () => {
    const node = await look(settings(broker.credentials('fra1')));
    assert.deepEqual(
      node.map(({ check, state }) => [check, state]),
      EVERYTHING.map((check) => [check, 'ok']),
      JSON.stringify(node),
    );
    const own = await look(settings(broker.credentials('control')));
    assert.deepEqual(
      own.map(({ check, state }) => [check, state]),
      EVERYTHING.slice(0, 3).map((check) => [check, 'ok']),
    );
    assert.equal(found(await look(null), 'broker').state, 'note');
  });

  it('shows nothing of the credentials', async () => {
    const { seed, decrypt, key } = broker.credentials('fra1');
    const text = JSON.stringify(await look(settings(broker.credentials('fra1'))));
    for (const secret of [seed, decrypt!, key]) assert.ok(!text.includes(secret.slice(0, 20)));
  });

  for (const [name, ms, state] of [
    ['equal', 0, 'ok'],
    ['two seconds apart', 2_000, 'ok'],
    ['more than that', 2_001, 'note'],
    ['ten seconds apart', -10_000, 'note'],
    ['more than that, so that heartbeats are refused', -10_001, 'wrong'],
  ] as const) {
    it(`compares its clock with that of control: ${name}`, async () => {
      beatAt(NOW + ms);
      const findings = await look(settings(broker.credentials('fra1')));
      beatAt(NOW);
      assert.equal(found(findings, 'broker clock').state, state);
    });
  }

  it('finds that no control process publishes, or that it signs with another key', async () => {
    const [silent, own] = await Promise.all(
      ['fra1', 'control'].map((end) => checkBroker(settings(broker.credentials(end)), () => NOW)),
    );
    assert.ok(silent !== undefined && own !== undefined);
    assert.match(found(silent, 'broker clock').text, /^no heartbeat in 3 seconds.*Start one/);
    assert.equal(found(own, 'broker clock').state, 'note');
    const other = await brokerFolder();
    beatAt(NOW, other.credentials('control'));
    await other.close();
    const findings = await look(settings(broker.credentials('fra1')));
    beatAt(NOW);
    assert.match(found(findings, 'broker clock').text, /refused \(signer\)/);
  });

  it('finds a stream of another feed', async () => {
    await control.append(Buffer.from('of somebody else'), 0);
    const findings = await look(settings(broker.credentials('fra1')));
    await control.eraseStreams();
    assert.match(found(findings, 'broker stream').text, /is refused \(.*another feed/);
  });

  it('finds that there is no stream, and makes none', async () => {
    const empty = await brokerFolder('fra1');
    try {
      const looks = ['fra1', 'control', 'control'].map((end) =>
        checkBroker(settings(empty.credentials(end)), () => NOW),
      );
      for (const findings of await Promise.all(looks)) {
        const { state, text } = found(findings, 'broker stream');
        assert.deepEqual([state, text.includes('makes it at its start')], ['wrong', true], text);
      }
      const connection = await rawConnection(empty.credentials('control'));
      const { data } = await connection.request('$JS.API.STREAM.NAMES', '{}');
      assert.match(Buffer.from(data).toString(), /"streams":(null|\[\])/);
      await connection.close();
    } finally {
      await empty.close();
    }
  });

  it('finds why the broker cannot be reached or lets nobody in', async () => {
    const fra1 = broker.credentials('fra1');
    const other = await brokerFolder('fra1');
    const stranger = other.credentials('fra1');
    await other.close();
    const plain = await startNats();
    const gone = `127.0.0.1:${await freePort()}`;
    try {
      for (const [feed, fault] of [
        [settings({ ...fra1, seed: stranger.seed }), /does not know this nkey/],
        [settings({ ...fra1, ca: stranger.ca }), /has a certificate that the authority/],
        [settings(fra1, [plain.address]), /does not offer TLS/],
        [settings(fra1, [gone]), /refuses connections/],
        [settings(fra1, ['no-such-name.invalid:4222']), /does not resolve/],
      ] as const) {
        const findings = await look(feed);
        assert.deepEqual(
          findings.map(({ state }) => state),
          ['wrong'],
          JSON.stringify(findings),
        );
        assert.match(findings[0]!.text, fault);
      }
    } finally {
      await plain.remove();
    }
  });

  it('finds a node that the broker bounds too much, or not at all', async () => {
    const path = join(broker.dir, 'nodes.conf');
    const text = readFileSync(path, 'utf8');
    const feed = settings(broker.credentials('fra1'));
    try {
      writeFileSync(path, text.replaceAll(/"uqrp\.v1\.keys\.fra1"/g, '"uqrp.v1.keys.other"'));
      await broker.server.reload();
      assert.match(
        found(await look(feed), 'broker permissions').text,
        /refuses subscription uqrp\.v1\.keys\.fra1/,
      );
      writeFileSync(path, text.replaceAll(/, permissions: \{\n.*\n.*\n\s+\}/g, ''));
      await broker.server.reload();
      assert.match(found(await look(feed), 'broker permissions').text, /may hear what is meant for others/);
    } finally {
      writeFileSync(path, text);
      await broker.server.reload();
    }
    assert.equal(found(await look(feed), 'broker permissions').state, 'ok');
  });
});
