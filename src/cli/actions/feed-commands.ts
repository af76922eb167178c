/** `feed erase`, `feed snapshot` and `feed epoch new`: what a control process does with the feed. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { askForEpoch, askToErase } from '../../feed/nodes/operator.ts';
import { demandSnapshot } from '../../feed/snapshots/demand.ts';
import { withControl } from '../control-connection.ts';
import { controlSettings, type FeedOption } from '../control-credentials.ts';
import { print } from '../output.ts';

/** Another control process, which may be the one that makes snapshots, uses the new key within two seconds. */
const NEW_KEY_MS = 3_000;

export async function feedErase(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async ({ bus, verifier, exchange }) => {
    await askToErase(exchange);
    if (!json)
      print('keys, stream and snapshots are erased: nothing that was sent before can be read any more');
    await sleep(NEW_KEY_MS);
    const seq = await demandSnapshot(bus, verifier, randomBytes);
    print(
      json ? JSON.stringify({ erased: true, snapshot: seq }) : `a new snapshot is made, at change ${seq}`,
    );
  });
}

/** Prints the number of the last change that the new snapshot has. */
export async function feedSnapshot(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async ({ bus, verifier }) => {
    const seq = await demandSnapshot(bus, verifier, randomBytes);
    print(json ? JSON.stringify({ seq }) : `a snapshot with every change up to ${seq} is at the broker`);
  });
}

export async function feedEpochNew(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async ({ exchange }) => {
    const epoch = await askForEpoch(exchange);
    print(
      json
        ? JSON.stringify({ epoch })
        : `the database has epoch ${epoch}: every node builds its view again from it, and serves the old one meanwhile`,
    );
  });
}
