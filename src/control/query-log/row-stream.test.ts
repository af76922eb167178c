import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Actor } from '../../http/actor.ts';
import type { NewRow } from '../../store/query-log/new-rows.ts';
import { RowStream } from './row-stream.ts';

test('rows that were left out are told once', () => {
  const written: string[] = [];
  const actor = { namespaces: null } as Actor;
  const stream = new RowStream(actor, { namespace: null, status: null }, {
    isReady: () => false,
    write: (text: string) => written.push(text),
  } as never);
  const row = { namespace: 'acme', status: 'hit' } as NewRow;
  stream.offer([row, row]);
  stream.tick(false);
  stream.tick(false);
  stream.offer([row]);
  stream.tick(false);
  assert.deepEqual(written, [
    'event: skipped\ndata: {"count":2}\n\n',
    'event: skipped\ndata: {"count":1}\n\n',
  ]);
});
