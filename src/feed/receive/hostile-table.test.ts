/** What a hostile broker does to each kind of message: the reason that is counted, and views that hold nothing but the log. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { header, revocations } from '../../../test/support/feed/batch/messages.ts';
import { testSecrets } from '../../../test/support/feed/bus/bus-source-world.ts';
import { createFeedWorld, type FeedWorld, type Node } from '../../../test/support/feed/bus/feed-world.ts';
import { payloadText } from '../../../test/support/view/memory-view.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { packRows, writeBatch } from '../message/batch.ts';
import { MESSAGE_KINDS } from '../message/message.ts';
import type { FeedRefusal } from '../ports/refusal.ts';

/** `answer` is one of control, `page` one of a snapshot. */
const KINDS = ['live', 'heartbeat', 'stream', 'answer', 'page'] as const;
type Kind = (typeof KINDS)[number];

/** What a node must not receive in the right way, so that it needs this kind. */
const WITHHELD: Record<Kind, readonly string[]> = {
  live: [],
  heartbeat: [],
  stream: [SUBJECTS.live],
  answer: [SUBJECTS.live, SUBJECTS.log],
  page: [],
};

type Part = (message: Uint8Array) => Uint8Array;

/** Applies the attack to the part of a message that is of this kind. */
function bent(kind: Kind, subject: string, data: Uint8Array, attack: Part): Uint8Array {
  const isPage = subject.startsWith(`${SUBJECTS.page}.`);
  const isAnswer = subject.startsWith(`${SUBJECTS.get}.`);
  if (kind === 'live' || kind === 'heartbeat' || kind === 'stream') {
    const of = { live: SUBJECTS.live, heartbeat: SUBJECTS.head, stream: SUBJECTS.log }[kind];
    return subject === of ? attack(data) : data;
  }
  // Of answers those to one kind of question: others are of another kind of message.
  const isOfKind = kind === 'page' ? isPage : isAnswer && data[5] === MESSAGE_KINDS.indexOf('since');
  return isOfKind ? attack(data) : data;
}

const stranger = signingKeys(2).signer;
/** Signed by the right key, and yet nothing for this node. */
const ofOtherStore = writeBatch(
  header({ epoch: 'ffffffff-6d7e-4b1d-9c64-0a6b8f5b7c11', streamSeq: 1 }),
  packRows(revocations(1, 3))[0]!,
  testSecrets,
);

/** @param earlier the first message of this kind that came */
type Attack = (earlier: Uint8Array) => Part;

const ATTACKS: Record<string, { attack: Attack; counts: Partial<Record<Kind, FeedRefusal>> }> = {
  'a bit is changed': {
    attack: () => (message) => changed(message, message.length - 70, 1),
    counts: all('signature'),
  },
  'it is signed by a stranger': {
    attack: () => (message) => {
      const body = Buffer.from(message.subarray(0, message.length - 64));
      body.set(stranger.id, 8);
      return stranger.sign(body);
    },
    counts: all('signer'),
  },
  'it is signed by a stranger in the name of control': {
    attack: () => (message) => stranger.sign(message.subarray(0, message.length - 64)),
    counts: all('signature'),
  },
  'it is cut': {
    attack: () => (message) => message.subarray(0, message.length - 1),
    counts: all('signature'),
  },
  'it is cut to its first octets': {
    attack: () => (message) => message.subarray(0, 40),
    counts: all('size'),
  },
  'it is empty': {
    attack: () => () => new Uint8Array(0),
    counts: all('size'),
  },
  'it is larger than any message': {
    attack: () => () => Buffer.alloc(1_000_001),
    counts: all('size'),
  },
  'it is of a later version': { attack: () => (message) => changed(message, 4, 4), counts: all('version') },
  'it is of another kind': { attack: () => (message) => changed(message, 3, 1), counts: all('format') },
  'it is of another database': {
    attack: () => () => ofOtherStore,
    counts: { live: 'epoch', heartbeat: 'format', answer: 'format', page: 'format' },
  },
  'it is an earlier one': {
    attack: (earlier) => () => earlier,
    counts: { live: 'replayed', heartbeat: 'replayed', answer: 'replayed', page: 'replayed' },
  },
};

function all(reason: FeedRefusal): Record<Kind, FeedRefusal> {
  return Object.fromEntries(KINDS.map((kind) => [kind, reason])) as Record<Kind, FeedRefusal>;
}

function changed(message: Uint8Array, at: number, by: number): Uint8Array {
  const copy = Buffer.from(message);
  copy[at]! ^= by;
  return copy;
}

function record(key: string, text: string): ChangeBody {
  const labels = { resource: 'doc', namespace: 'acme', version: 'v1' } as const;
  const rest = { contentType: 'text/plain', ttlSeconds: 300, expiresAt: null };
  const data = Buffer.from(text).toString('base64');
  return { type: 'record.upserted', key: `${key}.doc.acme.v1`, ...labels, data, ...rest };
}

function contents({ view }: Node): unknown {
  const records = [...view.state.records].map(([key, record]) => [key, payloadText(record)]);
  return { cursor: view.cursor(), records };
}

async function play(kind: Kind, attack: Attack, reason: FeedRefusal): Promise<void> {
  const world = createFeedWorld();
  const { broker, origin, timers } = world;
  world.publish('a');
  origin.write(record('a', 'first'), record('b', 'first'));
  let earlier: Uint8Array | null = null;
  const withheld = (subject: string): boolean => WITHHELD[kind].includes(subject);
  const keep: Part = (message) => {
    earlier ??= message;
    return message;
  };
  broker.bend = (subject, data) => (withheld(subject) ? null : bent(kind, subject, data, keep));
  const known = world.node('n1');
  await timers.advance(2_000);
  for (let i = 0; i < 3; i++) {
    origin.write(record('a', `${i}`));
    await timers.advance(1_500);
  }
  assert.deepEqual(contents(known), wanted(world));
  assert.ok(earlier !== null, 'a message of this kind has come');
  const before = contents(known);

  const part = attack(earlier);
  broker.bend = (subject, data) => (withheld(subject) ? null : bent(kind, subject, data, part));
  const isNew = kind === 'page';
  // A node that starts again without a view.
  const node = isNew ? world.node('n1') : known;
  const counted = node.refused.length;
  origin.write(record('b', 'second'), record('c', 'second'));
  await timers.advance(4_000);
  assert.ok(node.refused.slice(counted).includes(reason), `counted: ${node.refused.slice(counted).join()}`);
  if (isNew) assert.equal(node.view.cursor(), null, 'nothing is built');
  else if (kind === 'answer') assert.deepEqual(contents(node), before);
  else assert.deepEqual(contents(node), wanted(world), 'repaired from elsewhere');

  broker.bend = (_subject, data) => data;
  // Control closes snapshots that nobody asks pages of after 30 seconds.
  await timers.advance(isNew ? 40_000 : 6_000);
  assert.deepEqual(contents(node), wanted(world));
  await world.close();
}

function wanted({ origin }: FeedWorld): unknown {
  const { cursor, records } = origin.state();
  return { cursor, records: [...records].map(([key, record]) => [key, payloadText(record)]) };
}

for (const [name, { attack, counts }] of Object.entries(ATTACKS)) {
  describe(`a message of a hostile broker: ${name}`, () => {
    for (const kind of KINDS) {
      const reason = counts[kind];
      if (reason !== undefined) it(`${kind}: ${reason}`, () => play(kind, attack, reason));
    }
  });
}

describe('a hostile broker that withholds or reorders', () => {
  /** What the node does without these. */
  const withheld: readonly (readonly [string, readonly string[], string])[] = [
    ['live batches: they are read from the stream', [SUBJECTS.live], 'stream'],
    ['live batches and the stream: control is asked', [SUBJECTS.live, SUBJECTS.log], 'control'],
    ['heartbeats: live batches go on', [SUBJECTS.head], 'live'],
    ['answers: live batches go on', [subjectOfNode(SUBJECTS.get, 'n1')], 'live'],
  ];
  for (const [name, subjects, from] of withheld) {
    it(`withholds ${name}`, async () => {
      const { world, node } = await started();
      world.broker.bend = (subject, data) => (subjects.includes(subject) ? null : data);
      const repairs = node.repairs.length;
      world.origin.write(record('b', 'second'));
      await world.timers.advance(5_000);
      assert.deepEqual(contents(node), wanted(world));
      assert.deepEqual(node.repairs.slice(repairs), from === 'live' ? [] : [from]);
      await world.close();
    });
  }

  it('withholds everything: the view stays, and does not count as current', async () => {
    const { world, node } = await started();
    const before = contents(node);
    world.broker.bend = (_subject, data, to) => (to === 'n1' ? null : data);
    // What was on its way has come.
    await world.timers.advance(100);
    const heardAt = node.source.heardAt();
    world.origin.write(record('b', 'second'));
    await world.timers.advance(30_000);
    assert.deepEqual([contents(node), node.source.heardAt()], [before, heardAt]);
    world.broker.bend = (_subject, data) => data;
    await world.timers.advance(5_000);
    assert.deepEqual(contents(node), wanted(world));
    await world.close();
  });

  it('sends live batches in the opposite order: the view has them in the order of the log', async () => {
    const { world, node } = await started();
    const { broker, origin, timers } = world;
    const held: Uint8Array[] = [];
    const sender = broker.connect('sender');
    broker.bend = (subject, data, to) => {
      if (to !== 'n1' || subject === SUBJECTS.log) return subject === SUBJECTS.log ? null : data;
      if (subject === SUBJECTS.live) held.push(data);
      return null;
    };
    for (const text of ['1', '2', '3']) {
      origin.write(record('b', text));
      await timers.advance(25);
    }
    assert.equal(held.length, 3);
    broker.bend = (subject, data) => (subject === SUBJECTS.live ? data : null);
    for (const data of held.toReversed()) sender.publish(SUBJECTS.live, data);
    await timers.advance(90);
    assert.deepEqual(contents(node), wanted(world));
    await world.close();
  });

  async function started(): Promise<{ world: FeedWorld; node: Node }> {
    const world = createFeedWorld();
    world.publish('a');
    world.origin.write(record('a', 'first'));
    const node = world.node('n1');
    await world.timers.advance(2_000);
    assert.deepEqual(contents(node), wanted(world));
    return { world, node };
  }
});
