/** The body of a thread that reports the limit of its heap, in megabytes, as the reason why it did not start. */
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { StartFailure } from '../../../../src/process/node/settings.ts';

const megabytes = Math.round(getHeapStatistics().heap_size_limit / 2 ** 20);
parentPort!.postMessage({ type: 'failed', code: String(megabytes), listener: null } satisfies StartFailure);
