import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hookedFiles } from '../../../test/support/base/files/hooked-files.ts';
import { type Files, systemFiles } from '../../base/files.ts';
import { nodesConfig, parseNodes } from '../../feed/nodes/nodes.ts';
import { addFeedNode, makeFeedFolder, removeFeedNode } from './feed-folder.ts';

it('a file of the folder that cannot be read is named with the code of the system and what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-feed-folder-'));
  const file = join(folder, 'nodes.json');
  const message = (code: string): string =>
    `${file} cannot be read (${code}): run uqrp feed init first, or give its folder with --feed`;
  try {
    assert.throws(() => removeFeedNode('fra1', folder), { name: 'InputError', message: message('ENOENT') });
    mkdirSync(file);
    assert.throws(() => removeFeedNode('fra1', folder), { name: 'InputError', message: message('EISDIR') });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('a change of the nodes that fails at any rename, and the same command again', () => {
  const clock = (): number => Date.UTC(2026, 10, 29);
  const CHANGES: Readonly<Record<string, readonly [(feed: string, files?: Files) => unknown, string[]]>> = {
    'node add': [(feed, files) => addFeedNode(clock, 'new', { feed }, files), ['fra1', 'new', 'nyc1']],
    'node remove': [async (feed, files) => removeFeedNode('fra1', feed, files), ['nyc1']],
  };
  const namesOf = (dir: string): string[] => {
    const nodes = parseNodes(readFileSync(join(dir, 'nodes.json'), 'utf8'))!;
    assert.equal(
      readFileSync(join(dir, 'nodes.conf'), 'utf8'),
      nodesConfig(nodes),
      'both name the same nodes',
    );
    return nodes.nodes.map(({ name }) => name).toSorted();
  };

  async function withFeed(run: (dir: string) => Promise<void>): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'uqrp-feed-folder-'));
    try {
      const { dir } = await makeFeedFolder(clock, join(folder, 'feed'), {
        listen: '127.0.0.1:4222',
        hosts: [],
      });
      for (const name of ['fra1', 'nyc1']) await addFeedNode(clock, name, { feed: dir });
      await run(dir);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  for (const [what, [change, after]] of Object.entries(CHANGES)) {
    for (const how of ['is refused', 'kills it']) {
      it(`uqrp ${what} succeeds after a rename that ${how} (a removed node stayed admitted)`, async () => {
        for (const file of ['nodes.json', 'nodes.conf']) {
          await withFeed(async (dir) => {
            let isOver = false;
            const failing = hookedFiles(systemFiles, ({ call, paths }) => {
              const fails = call === 'rename' && paths[1] === join(dir, file);
              if (how === 'kills it') isOver ||= fails;
              // A killed process removes neither its draft nor the lock.
              if (fails || isOver) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
              return undefined;
            });
            await assert.rejects(async () => change(dir, failing), /ENOSPC/);
            // As the refusal of the next command says.
            if (how === 'kills it') rmSync(join(dir, '.lock'), { recursive: true });
            await change(dir);
            assert.deepEqual(namesOf(dir), after, file);
            const drafts = readdirSync(dir).filter(
              (name) => name.startsWith('nodes.') && name.split('.').length > 2,
            );
            assert.equal(drafts.length, how === 'kills it' ? 1 : 0);
          });
        }
      });
    }
  }

  it('uqrp node remove of a node that the list alone lacks takes it from what nats-server reads, too', async () => {
    await withFeed(async (dir) => {
      const half = hookedFiles(systemFiles, ({ call, paths }) =>
        call === 'rename' && paths[1] === join(dir, 'nodes.conf') ? 'skip' : undefined,
      );
      removeFeedNode('fra1', dir, half);
      assert.throws(() => removeFeedNode('fra1', dir), {
        name: 'InputError',
        message: 'the feed has no node fra1',
      });
      assert.deepEqual(namesOf(dir), ['nyc1']);
    });
  });
});
