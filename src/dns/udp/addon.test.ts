import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setting } from '../../../test/support/dns/fakes.ts';
import { udpSuite } from '../../../test/support/dns/udp/udp-suite.ts';
import { collectGarbage } from '../../base/lifecycle/collect-garbage.ts';
import { listenUdpBatch, loadUdpAddon, type UdpAddon } from './batch-listener.ts';
import { listenUdpEither } from './node-listener.ts';

const NATIVE = fileURLToPath(new URL('../../../native/', import.meta.url));
/** How build.sh ends without Node's headers, and a shell without the program it was told to run. */
const NO_HEADERS = 2;
const NO_COMPILER = 127;

test('the binary was built from the source in its folder', () => {
  const sums = readFileSync(join(NATIVE, 'prebuilt/linux-x64/SHA256SUMS'), 'utf8').trimEnd().split('\n');
  const files = sums.map((line) => {
    const [sum, file] = line.split('  ') as [string, string];
    assert.equal(
      createHash('sha256')
        .update(readFileSync(join(NATIVE, file)))
        .digest('hex'),
      sum,
      file,
    );
    return file;
  });
  const sources = readdirSync(NATIVE).filter((file) => /\.[ch]$/.test(file));
  const built = ['udp-batch.node', 'uqrp-xdp'].map((file) => `prebuilt/linux-x64/${file}`);
  assert.deepEqual(files.toSorted(), [...sources, 'build.sh', ...built].toSorted());
});

test('a missing file, a file that is no addon and a binary with another ABI are not loaded', () => {
  assert.equal(loadUdpAddon(join(NATIVE, 'prebuilt/none/udp-batch.node')), null);
  assert.equal(loadUdpAddon(join(NATIVE, 'udp-batch.c')), null);
  assert.equal(loadUdpAddon(fileURLToPath(new URL('../../../package.json', import.meta.url))), null);
});

test('trim gives free memory between allocations back to the kernel', {
  skip: loadUdpAddon() === null,
}, async () => {
  const pieces = Array.from({ length: 1000 }, () => Buffer.allocUnsafeSlow(60_000).fill(1));
  // The C library returns free memory at the end of its heap by itself. This piece is behind all others.
  const last = pieces.at(-1);
  pieces.length = 0;
  await setImmediate();
  collectGarbage();
  const before = process.memoryUsage.rss();
  loadUdpAddon()?.trim();
  const freed = before - process.memoryUsage.rss();
  assert.ok(freed > 30_000_000, `${freed} octets of 60 MB`);
  assert.equal(last?.[0], 1);
});

test('the sockets of Node serve where batches are off or unavailable', async () => {
  const refusing = (errno: number): UdpAddon => ({ abi: 1, open: () => errno }) as unknown as UdpAddon;
  const ENOSYS = -38;
  const EADDRINUSE = -98;
  const addon = loadUdpAddon();
  const paths: string[] = [];
  for (const [wanted, given] of [
    ['auto', addon],
    ['auto', null],
    ['auto', refusing(ENOSYS)],
  ] as const) {
    const { listener, path } = await listenUdpEither(setting(), wanted, given);
    paths.push(path);
    await listener.close(0);
  }
  assert.deepEqual(paths, [addon === null ? 'node' : 'batch', 'node', 'node']);
  const { listener, path } = await listenUdpEither(setting(), 'node');
  await listener.close(0);
  assert.equal(path, 'node');
  await assert.rejects(listenUdpEither(setting(), 'auto', refusing(EADDRINUSE)), { code: 'EADDRINUSE' });
});

/** One built here and now, so that the source is what is tested too. */
const built = build();
udpSuite('listenUdpBatch, built by this test', (options) => listenUdpBatch(options, built!), {
  skip: built === null ? 'no compiler or no headers of Node' : false,
});

function build(): UdpAddon | null {
  if (process.platform !== 'linux') return null;
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-native-'));
  after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'udp-batch.node');
  const { status, stderr } = spawnSync(join(NATIVE, 'build.sh'), [dir], { encoding: 'utf8' });
  if (status === NO_HEADERS || status === NO_COMPILER) return null;
  assert.equal(status, 0, stderr);
  const addon = loadUdpAddon(file);
  assert.notEqual(addon, null);
  return addon;
}
