import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAME_OCTETS, FrameWriter } from './frames.ts';
import { commonHeaders } from './hpack-encoder.ts';
import { HELD_OCTETS, OUTPUT_OCTETS } from './limits.ts';
import { Http2Stream } from './stream.ts';
import { ReplySender } from './stream-table.ts';

const HEAD = {
  method: 'GET',
  target: '/',
  contentType: undefined,
  contentLength: undefined,
  tooLarge: false,
};
const OWNER = { address: '192.0.2.1', reply: () => {} };

/** A sender whose socket takes everything, and streams that may send `window` octets. */
function open() {
  const writer = new FrameWriter({
    write: () => true,
    unsent: () => 0,
    pause() {},
    resume() {},
    end() {},
    destroy() {},
  });
  const sender = new ReplySender(writer, commonHeaders({}), () => {});
  let id = 1;
  const stream = (window: number): Http2Stream => {
    const windows = { ended: true, body: 0, send: window };
    id += 2;
    return new Http2Stream(OWNER, id, HEAD, 0, windows);
  };
  return { writer, sender, stream };
}

test('octets of streams that are reset no longer count as held, sent in part or not at all (H01)', () => {
  const { writer, sender, stream } = open();
  sender.widen(2 ** 30);
  const body = new Uint8Array(HELD_OCTETS);
  // Each would fill all that may be held. Ten times: one octet that stays counted would refuse the next.
  for (const window of [0, 1, 1000, FRAME_OCTETS, 3 * FRAME_OCTETS, 0, 1, 1000, FRAME_OCTETS, 0]) {
    const one = stream(window);
    assert.equal(sender.reply(one, { status: 200, headers: {}, body }), true, `${window}`);
    assert.equal(one.sent, Math.min(window, OUTPUT_OCTETS));
    sender.drop(one);
    sender.drop(one);
    writer.flush();
  }
  // Nor were more octets given back than were held.
  assert.equal(
    sender.reply(stream(0), { status: 200, headers: {}, body: new Uint8Array(HELD_OCTETS + 1) }),
    false,
  );
});
