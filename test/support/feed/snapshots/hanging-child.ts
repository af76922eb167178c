/**
 * In the place of the process that makes snapshots: it tells what is in the place of its credentials, writes its id
 * into its folder, tells that it builds when `make` comes, answers that, and hangs on everything else.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildMessage, ParentMessage } from '../../../../src/feed/snapshots/child-process.ts';

process.on('message', (message: ParentMessage) => {
  if (message.type === 'start') {
    const told = JSON.parse(message.credentials) as readonly ChildMessage[];
    for (const each of told) process.send?.(each);
    writeFileSync(join(message.directory, `${process.pid}`), '');
  }
  if (message.type !== 'make') return;
  process.send?.({ type: 'building' } satisfies ChildMessage);
  process.send?.({ type: 'failed', message: 'not now', code: 'ENOSPC' } satisfies ChildMessage);
});
// Also when its parent is gone.
setInterval(() => {}, 1_000);
