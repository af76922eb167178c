import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const PRELOAD = new URL('./other-values.ts', import.meta.url).href;

/** This checkout. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Environment of a server without the limit of fresh signatures. With it a flood of new names gets TC, which costs no signature, so a
 * comparison at full speed would compare something else.
 */
export const withoutBudget = (root: string): NodeJS.ProcessEnv =>
  changed(root, 'src/base/limits.ts', 'LIMITS', { signaturesPerSecond: 1_000_000 });

/** Environment of a server whose packet cache keeps a few replies: nearly each question takes the whole path. */
export const withoutPacketCache = (root: string): NodeJS.ProcessEnv =>
  changed(root, 'src/dns/query/packet-cache.ts', 'PACKET_CACHE_DEFAULTS', {
    entries: 1,
    octets: 8192,
  });

/** Environment of a server that keeps idle connections over TCP and DoT for ten minutes, two and a half when it is crowded. */
export const withLongIdle = (root: string): NodeJS.ProcessEnv =>
  changed(root, 'src/base/limits.ts', 'LIMITS', { tcpIdleMs: 600_000 });

function changed(
  root: string,
  file: string,
  name: string,
  values: Readonly<Record<string, number>>,
): NodeJS.ProcessEnv {
  return {
    NODE_OPTIONS: `--import=${PRELOAD}`,
    BENCH_VALUES: JSON.stringify([[pathToFileURL(join(root, file)).href, name, values]]),
  };
}
