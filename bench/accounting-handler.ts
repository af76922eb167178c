/**
 * What counting costs inside the packet handler: CPU nanoseconds per question, with and without accounting, in turn. It leaves
 * out sockets, the main thread and the database, which bench/accounting.ts includes, and bears a busy machine better.
 */

import { createRecorder } from '../src/dns/accounting/recorder.ts';
import { encodeQuery } from '../src/protocol/dns/message/message.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { spellQueryToken } from '../src/protocol/query/query-token.ts';
import { START, signedNode, zoneOf } from '../test/support/dns/query/signed-node.ts';
import { minted, namespaceUpserted, upserted } from '../test/support/view/view-changes.ts';
import { print, row } from './lib/figures.ts';

const ROUNDS = Number(process.argv[2] ?? 100);
const RECORDS = 100;
const HOT = 40_000;
const SLOW = 3000;
const TOKEN = spellQueryToken(Buffer.alloc(32, 'bench'));

async function open(name: string, isCounted: boolean) {
  const clock = { now: START };
  const recorder = createRecorder({ startedAt: START, onQuery() {} });
  const { handler, view } = signedNode(
    { zones: zoneOf(null, clock), ...(isCounted && { accounting: recorder }) },
    clock,
  );
  const records = Array.from({ length: RECORDS }, (_, i) => upserted(`r${i}.acme.v1`, 'x'.repeat(100)));
  await view.apply([namespaceUpserted('acme'), minted('acme', TOKEN), ...records], 1);
  const questions = records.map((_, i) =>
    encodeQuery(nameFromText(`get.auth-${TOKEN}.r${i}.acme.v1.uqrp.net`)!, 16, {
      id: 1,
      rd: false,
      edns: { payload: 1232, dnssecOk: false },
    }),
  );
  // A reply is stored at the second sight of its question.
  for (const question of [...questions, ...questions]) void handler.slow(question, 'udp', false);
  return { name, handler, recorder, questions, hot: [] as number[], slow: [] as number[] };
}

type Side = Awaited<ReturnType<typeof open>>;

function nanosOf(questions: number, ask: (at: number) => void): number {
  const before = process.cpuUsage();
  for (let i = 0; i < questions; i++) ask(i);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / questions;
}

function measure({ handler, recorder, questions, hot, slow }: Side): void {
  const out = Buffer.alloc(4096);
  recorder.handOver(START);
  const questionAt = (i: number): Uint8Array => questions[i % RECORDS]!;
  const askHot = (i: number): void => {
    const question = questionAt(i);
    if (handler.hot(question, question.length, 'udp', out) === 0) throw new Error('the cache has no reply');
  };
  hot.push(nanosOf(HOT, askHot));
  recorder.handOver(START);
  slow.push(nanosOf(SLOW, (i) => void handler.slow(questionAt(i), 'udp', false)));
}

const sides = [await open('counted', true), await open('uncounted', false)];
for (let round = 0; round < ROUNDS; round++) {
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) measure(side);
}
print(row(['CPU ns/question', 'least', 'first quartile', 'median']));
for (const kind of ['hot', 'slow'] as const) {
  for (const side of sides) {
    const all = side[kind].toSorted((a, b) => a - b).map(Math.round);
    const at = (part: number): string => String(all[Math.floor(all.length * part)]);
    print(row([`${kind}, ${side.name}`, at(0), at(0.25), at(0.5)]));
  }
}
