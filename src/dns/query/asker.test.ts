import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerOf,
  keysMadeAt,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import type { PublicService } from './operations.ts';

test('who asks is told past the services: twice its share, plus 1 where its address may be forged', () => {
  const clock = { now: START };
  const asker = { share: 0 };
  const seen: number[] = [];
  const service: PublicService = {
    resource: 'echo',
    info: () => ({ kind: 'refused', until: 0 }),
    answer() {
      seen.push(asker.share);
      return answerOf('v=svc1', 0);
    },
  };
  const { handler } = signedNode({ zones: zoneOf(keysMadeAt(START), clock), asker }, clock, [service]);
  const query = queryOf('get.a.echo.public.v1.uqrp.net');
  void handler.slow(query, 'udp', false, 7);
  void handler.slow(query, 'udp', true, 7);
  void handler.slow(query, 'doh', true, 63);
  void handler.slow(query, 'tcp', true, 0);
  assert.deepEqual(seen, [15, 14, 126, 0]);
});
