import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyOfReplies, endReply, LONGEST, replyAt, WRITE_BUFFER_OCTETS } from './framing.ts';

test('each reply follows its length in network order, and a copy stays as it was', () => {
  replyAt(0).set([7, 8, 9]);
  const first = endReply(0, 3);
  replyAt(first).set([1]);
  const both = first + endReply(first, 1);
  const copy = copyOfReplies(both);
  replyAt(0).fill(0);
  assert.deepEqual([...copy], [0, 3, 7, 8, 9, 0, 1, 1]);
});

test('the longest reply fits behind replies of almost a write buffer', () => {
  const at = WRITE_BUFFER_OCTETS - 1;
  replyAt(at).fill(5);
  const octets = endReply(at, LONGEST);
  assert.deepEqual([...copyOfReplies(at + octets).subarray(at, at + 3)], [255, 255, 5]);
  assert.equal(copyOfReplies(at + octets).at(-1), 5);
});
