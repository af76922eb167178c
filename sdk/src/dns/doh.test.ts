import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotFound } from './errors.ts';
import { Reader } from './reader.ts';

it('a reply over DoH whose body comes slowly has all that is left of the timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const finish: (() => void)[] = [];
  const fetch = async (_: string, { body, signal }: RequestInit): Promise<Response> => {
    const reply = Uint8Array.from(body as Uint8Array);
    // NXDOMAIN.
    reply[2]! |= 0x80;
    reply[3]! |= 3;
    const stream = new ReadableStream({
      start(controller) {
        signal?.addEventListener('abort', () => controller.error(new Error('aborted')));
        finish.push(() => {
          controller.enqueue(reply);
          controller.close();
        });
      },
    });
    return new Response(stream);
  };
  const reading = new Reader({ doh: 'https://uqrp.example.net/dns-query', fetch }).text('a.b.acme.v1');
  reading.catch(() => {});
  // The head of the answer is there at the latest in the turn after the request.
  while (finish.length === 0) await nextTurn();
  await nextTurn();
  // More than a third. The clock of the whole, which is not this one, has gone on by itself.
  t.mock.timers.tick(2000);
  await nextTurn();
  finish[0]?.();
  await assert.rejects(reading, NotFound);
  assert.equal(finish.length, 1);
});
