import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeFeed } from '../../../test/support/feed/feed-folder.ts';
import { ConfigError, loadConfig } from './config.ts';
import { feedServers } from './variables.ts';

describe('the feed in the environment', () => {
  let folder: string;
  let control: string;
  let node: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-settings-'));
    const feed = await makeFeed(join(folder, 'feed'));
    control = feed.control;
    node = await feed.addNode('fra1');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function faultsOf(env: Record<string, string>): readonly string[] {
    try {
      loadConfig(env);
    } catch (error) {
      if (error instanceof ConfigError) return error.faults;
      throw error;
    }
    return [];
  }

  it('gives servers as host:port, each once named with or without the scheme', () => {
    assert.deepEqual(feedServers('nats://a.example:4222'), ['a.example:4222']);
    assert.deepEqual(feedServers('nats://192.0.2.1:1,nats://b:2, [2001:db8::1]:65535'), [
      '192.0.2.1:1',
      'b:2',
      '[2001:db8::1]:65535',
    ]);
  });

  it('tells each role its end, and a node its name', () => {
    const edge = loadConfig({ UQRP_ROLE: 'edge', UQRP_FEED_CREDENTIALS: node });
    assert.deepEqual(
      [edge.feed?.end, edge.feed?.servers, edge.feed?.file, edge.nodeName],
      ['node', ['127.0.0.1:4222'], node, 'fra1'],
    );
    for (const UQRP_ROLE of ['control', 'all']) {
      const { feed, nodeName } = loadConfig({
        UQRP_ROLE,
        UQRP_FEED_URL: 'nats://nats.example:4333',
        UQRP_FEED_CREDENTIALS: control,
      });
      assert.deepEqual([feed?.end, feed?.servers, nodeName], ['control', ['nats.example:4333'], 'uqrp']);
    }
    assert.deepEqual(faultsOf({ UQRP_ROLE: 'edge', UQRP_NODE: 'fra1', UQRP_FEED_CREDENTIALS: node }), []);
  });

  it('refuses what does not fit together, and says what does', () => {
    const url = 'nats://127.0.0.1:4222';
    const cut = join(folder, 'cut.creds');
    writeFileSync(cut, '{"version": 1, "seed": "SUHUSH');
    const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ UQRP_FEED_URL: url }, /^UQRP_FEED_URL needs UQRP_FEED_CREDENTIALS/],
      [{ UQRP_FEED_CREDENTIALS: node }, /that of node fra1\. The control role needs control\.creds/],
      [{ UQRP_ROLE: 'edge', UQRP_FEED_CREDENTIALS: control }, /that of control.*"uqrp node add"/],
      [
        { UQRP_ROLE: 'edge', UQRP_FEED_CREDENTIALS: node, UQRP_NODE: 'ams1' },
        /^UQRP_NODE differs from fra1.*Leave UQRP_NODE out/,
      ],
      [{ UQRP_FEED_CREDENTIALS: cut }, /^UQRP_FEED_CREDENTIALS: .*perhaps it was cut short/],
      [{ UQRP_FEED_CREDENTIALS: join(folder, 'none') }, /cannot be read \(ENOENT\)\. Put it there/],
    ];
    for (const [env, message] of cases) {
      const faults = faultsOf(env);
      assert.equal(faults.length, 1, faults.join());
      assert.match(faults[0]!, message);
      assert.doesNotMatch(faults[0]!, /HUSH/);
    }
    // One start shows every fault, those of the file too.
    assert.equal(
      faultsOf({
        UQRP_ROLE: 'edge',
        UQRP_DNS_PORT: 'x',
        UQRP_SECRET: 'x'.repeat(32),
        UQRP_FEED_CREDENTIALS: cut,
      }).length,
      3,
    );
  });
});
