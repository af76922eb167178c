import { spawnSync } from 'node:child_process';

const FLAG = 'UQRP_TEST_OWN_NETWORK';

/**
 * Runs this script again in a new network namespace and exits with its code; returns only inside. There, loopback also
 * has the given addresses, and nothing else is reachable. Needs root or user namespaces; without both it prints so and
 * exits 0.
 */
export function enterOwnNetwork(addresses: readonly string[]): void {
  if (process.env[FLAG] === '1') return;
  const setup = ['ip link set lo up', ...addresses.map((address) => `ip addr add ${address}/32 dev lo`)];
  const inside = ['--net', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])];
  const script = `${setup.join(' && ')} && exec "$@"`;
  if (spawnSync('unshare', [...inside, 'sh', '-c', setup.join(' && ')]).status !== 0) {
    process.stdout.write('skipped: no network of its own can be had here\n');
    process.exit(0);
  }
  const { status } = spawnSync(
    'unshare',
    [...inside, 'sh', '-c', script, 'own-network', process.execPath, ...process.argv.slice(1)],
    { stdio: 'inherit', env: { ...process.env, [FLAG]: '1' } },
  );
  process.exit(status ?? 1);
}
