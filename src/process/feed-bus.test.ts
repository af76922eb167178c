import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { makeFeed } from '../../test/support/feed/feed-folder.ts';
import { isControl, parseCredentials } from '../feed/ports/credentials.ts';
import { ConfigError } from '../ops/config/config.ts';
import { openFeedBus } from './feed-bus.ts';

it('credentials with a damaged nkey are refused before anything runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-feed-bus-'));
  try {
    const { control: file } = await makeFeed(join(folder, 'feed'));
    const credentials = parseCredentials(readFileSync(file, 'utf8'));
    assert.ok(isControl(credentials));
    const damaged = { ...credentials, seed: credentials.seed.slice(0, -1) };
    await assert.rejects(
      openFeedBus({
        feed: { end: 'control', servers: ['127.0.0.1:1'], credentials: damaged, file },
        clock: () => 0,
        log: { event: () => assert.fail('a connection was tried') },
      }),
      (error) => error instanceof ConfigError && error.message.includes('"seed"'),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
