import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { testNode } from '../../../test/support/feed/keys/key-world.ts';
import { CredentialsError } from '../ports/credentials.ts';
import { type FeedNode, printNodes, type WatchedNodes, watchNodes } from './nodes.ts';

const listOf = (...nodes: readonly FeedNode[]): string => printNodes({ version: 1, control: 'U', nodes });
const unexpected = (error: unknown): never => assert.fail(String(error));
const names = (nodes: WatchedNodes): string[] => nodes.current().map(({ name }) => name);

async function inFolder(run: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-nodes-'));
  try {
    await run(join(folder, 'nodes.json'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the file of the nodes', () => {
  it('is read again when it has changed, and tells so', () =>
    inFolder(async (path) => {
      writeFileSync(path, listOf(testNode('fra1')));
      const timers = createManualTimers();
      const nodes = watchNodes({ path, onDamaged: unexpected, timers });
      let changes = 0;
      const unlisten = nodes.onChange(() => changes++);
      await timers.advance(5_000);
      assert.deepEqual([names(nodes), changes], [['fra1'], 0]);
      writeFileSync(path, listOf(testNode('fra1'), testNode('ams1')));
      await timers.advance(1_000);
      assert.deepEqual([names(nodes), changes], [['fra1', 'ams1'], 1]);
      unlisten();
      writeFileSync(path, listOf());
      await timers.advance(1_000);
      assert.deepEqual([names(nodes), changes], [[], 1]);
      await nodes.stop();
    }));

  it('that is damaged or gone changes nothing, and is reported once with its path and what to do', () =>
    inFolder(async (path) => {
      writeFileSync(path, listOf(testNode('fra1')));
      const timers = createManualTimers();
      const reports: unknown[] = [];
      const nodes = watchNodes({ path, onDamaged: (error) => reports.push(error), timers });
      const damages: (() => void)[] = [
        () => writeFileSync(path, listOf(testNode('ams1')).slice(0, -20)),
        () => writeFileSync(path, listOf({ ...testNode('ams1'), encrypt: 'none' })),
        () => rmSync(path),
      ];
      for (const [i, damage] of damages.entries()) {
        damage();
        await timers.advance(5_000);
        assert.deepEqual(names(nodes), ['fra1']);
        assert.equal(reports.length, i + 1);
        const { message } = reports[i] as Error;
        assert.ok(message.includes(path) && message.includes('uqrp node add'), message);
      }
      assert.ok((reports[1] as Error).message.includes('"encrypt" of ams1'));
      writeFileSync(path, listOf(testNode('ams1')));
      await timers.advance(1_000);
      assert.deepEqual(names(nodes), ['ams1']);
      await nodes.stop();
    }));

  it('that could not be read for a moment is read after it, although it is the same file', () =>
    inFolder(async (path) => {
      writeFileSync(path, listOf(testNode('fra1')));
      const timers = createManualTimers();
      const reports: unknown[] = [];
      let isFailing = false;
      const read = (file: string): string => {
        if (isFailing) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
        return readFileSync(file, 'utf8');
      };
      const nodes = watchNodes({ path, read, onDamaged: (error) => reports.push(error), timers });
      writeFileSync(path, listOf());
      isFailing = true;
      await timers.advance(5_000);
      assert.deepEqual([names(nodes), reports.length], [['fra1'], 1]);
      isFailing = false;
      await timers.advance(1_000);
      assert.deepEqual(names(nodes), []);
      await nodes.stop();
    }));

  it('refuses the start when there is none that can be used', () =>
    inFolder(async (path) => {
      assert.throws(() => watchNodes({ path, onDamaged: unexpected }), CredentialsError);
      writeFileSync(path, '{');
      assert.throws(() => watchNodes({ path, onDamaged: unexpected }), CredentialsError);
    }));
});
