import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  answerOf,
  type Clockwork,
  cachedReply,
  isSignedBy,
  messageOf,
  queryOf,
  START,
  signedNode,
  ZONE,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { generateKeySet, type KeySetData, readKeySet } from '../../dns/dnssec/key-set.ts';
import { COOKIE_PERIOD_MS, type PeriodSecret, TICKET_PERIOD_MS } from '../../feed/ports/node-keys.ts';
import { FOREVER } from '../../protocol/query/outcome.ts';
import { LOOK_MS } from '../node/keys.ts';
import { controlSecrets, fileZoneKeys } from '../zone-keys/control-secrets.ts';
import { openKeys } from './edge-keys.ts';

const SERVICE = {
  resource: 'units',
  info: () => ({ kind: 'refused' as const, until: 0 }),
  answer: () => answerOf('1', FOREVER),
};
const QUERY = queryOf('get.1-km-to-mi.units.public.v1.uqrp.net');

it('at the end of a day or half day nodes get other secrets of cookies and tickets, and keep every cached answer', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-edge-keys-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const clock: Clockwork = { now: START - 1 };
  const zoneKeys = fileZoneKeys(dataDir, () => clock.now);
  const first = await zoneKeys.load(ZONE);
  const nodeKeys = controlSecrets({
    keys: zoneKeys,
    zones: [ZONE],
    mode: 'full',
    cookieKey: Buffer.alloc(32, 1),
    ticketKey: Buffer.alloc(32, 2),
    clock: () => clock.now,
  });
  const timers = createManualTimers();
  const events: string[] = [];
  const secrets = await openKeys({
    config: { dnssec: 'full', role: 'edge', zones: [ZONE] },
    nodeKeys,
    onKeysMissing() {},
    cancel: new AbortController().signal,
    log: { event: (name) => events.push(name) },
    timers,
  });
  const { handler } = signedNode({ zones: zoneOf(first, clock) }, clock, [SERVICE]);
  let cookies: readonly PeriodSecret[] = secrets.first.cookies;
  // As a worker does.
  const watch = secrets.watch(async (changed) => {
    cookies = changed.cookies ?? cookies;
    if (changed.keys !== undefined) handler.reload(zoneOf(readKeySet(changed.keys[0] as KeySetData), clock));
  });
  const ask = (): Uint8Array => handler.slow(QUERY, 'udp', false) as Uint8Array;
  const periods = (): number[] => [cookies, secrets.tickets()].map((all) => all[1]!.period);

  for (const _ of [1, 2]) ask();
  const warm = cachedReply(handler, QUERY);
  assert.ok(warm !== null);
  for (const now of [START, START + TICKET_PERIOD_MS, START + COOKIE_PERIOD_MS]) {
    clock.now = now;
    await timers.advance(LOOK_MS);
    assert.deepEqual(periods(), [Math.floor(now / COOKIE_PERIOD_MS), now / TICKET_PERIOD_MS]);
    assert.deepEqual(cachedReply(handler, QUERY), warm, new Date(now).toISOString());
  }
  assert.deepEqual(events, []);

  const next = generateKeySet(ZONE, clock.now);
  await zoneKeys.update(ZONE, () => ({ keys: next }));
  await timers.advance(LOOK_MS);
  assert.equal(cachedReply(handler, QUERY), null, 'other keys void it');
  assert.ok(isSignedBy(messageOf(ask()), next));
  assert.deepEqual(events, ['keys.loaded']);
  await watch.stop();
});
