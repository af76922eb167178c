import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { countedIn } from '../../../test/support/dns/query/counted-rows.ts';
import {
  answerOf,
  type Clockwork,
  keysMadeAt,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { expired, minted, namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import { TRANSPORTS, type Transport } from '../../base/network/transport.ts';
import type { AppliedChange, ChangeBody } from '../../protocol/change.ts';
import { encodeQuery } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { FOREVER, QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import { spellQueryToken } from '../../protocol/query/query-token.ts';
import { createRecorder, type Recorder } from '../accounting/recorder.ts';
import type { PublicService } from './operations.ts';
import type { PacketContext, ReloadableHandler } from './packet.ts';
import { makeZone, signedZone } from './zones.ts';

const ACME = '018f0000-0000-7000-8000-00000000000a';
const OPEN = '018f0000-0000-7000-8000-00000000000b';
const TOKEN = spellQueryToken(Buffer.alloc(32, 'acme'));
const AUTH = `get.auth-${TOKEN}`;
const A = 1;
const ANY = 255;

const units: PublicService = {
  resource: 'units',
  info: () => ({ kind: 'refused', until: 0 }),
  answer: () => answerOf('1', FOREVER),
};

const record = (key: string, octets = 100, expiresAt: number | null = null): ChangeBody =>
  upserted(key, 'x'.repeat(octets), { expiresAt });

describe('what a packet handler counts', () => {
  const clock: Clockwork = { now: START };
  let recorder: Recorder;
  let statuses: number[];
  let handler: ReloadableHandler;
  let apply: (...changes: readonly AppliedChange[]) => Promise<void>;
  let reads: string[];

  const start = async (more: Partial<PacketContext> = {}): Promise<void> => {
    clock.now = START;
    statuses = QUERY_STATUSES.map(() => 0);
    recorder = createRecorder({ startedAt: START, onQuery: (status) => statuses[status]!++ });
    const node = signedNode({ zones: zoneOf(null, clock), accounting: recorder, ...more }, clock, [units]);
    handler = node.handler;
    reads = [];
    for (const read of ['namespace', 'token', 'record'] as const) {
      const real = node.view[read].bind(node.view) as (key: string) => never;
      Object.assign(node.view, {
        [read]: (key: string) => {
          reads.push(read);
          return real(key);
        },
      });
    }
    let seq = 0;
    apply = (...changes) => node.apply(changes, ++seq);
    await apply(
      namespaceUpserted('acme', false, false, ACME),
      namespaceUpserted('open', true, false, OPEN),
      minted('acme', TOKEN, START + 1e9),
      record('temp.acme.v1'),
      record('large.acme.v1', 2586),
      record('brief.acme.v1', 10, START + 1000),
      record('temp.open.v1'),
    );
  };
  beforeEach(() => start());

  const send = (packet: Uint8Array, transport: Transport): Uint8Array => {
    const out = Buffer.alloc(65_535);
    const octets = handler.hot(packet, packet.length, transport, out);
    if (octets > 0) return new Uint8Array(out.subarray(0, octets));
    const reply = handler.slow(packet, transport, transport !== 'udp');
    assert.ok(reply instanceof Uint8Array);
    return reply;
  };
  const ask = (name: string, transport: Transport = 'udp', qtype = 16, dnssecOk = false): number =>
    messageOf(send(queryOf(`${name}.uqrp.net`, { qtype, dnssecOk }), transport)).rcode;
  /** Everything since the last call. */
  const counted = () => countedIn(recorder.handOver(clock.now));

  const TABLE: readonly (readonly [
    what: string,
    name: string,
    status: QueryStatus,
    labels: string,
    id: string,
  ])[] = [
    ['a private record', `${AUTH}.temp.acme.v1`, 'hit', 'temp.v1', ACME],
    ['no private record', `${AUTH}.none.acme.v1`, 'miss', 'none.v1', ACME],
    ['a private record that has expired', `${AUTH}.brief.acme.v1`, 'expired', 'brief.v1', ACME],
    ['a private record without a token', 'get.temp.acme.v1', 'refused', '-', ACME],
    ['a schema of a private namespace', 'info.temp.acme.v1', 'refused', '-', ACME],
    ['datasets of a private namespace', 'manifest.datasets.acme.v1', 'refused', '-', ACME],
    ['an operation that does not fit', `${AUTH.replace('get', 'identity')}.temp.acme.v1`, 'error', '-', ACME],
    ['a record that everybody reads', 'get.temp.open.v1', 'hit', 'temp.v1', OPEN],
    ['no such record that everybody reads', 'get.none.open.v1', 'miss', 'none.v1', OPEN],
  ];

  for (const transport of TRANSPORTS) {
    test(`every status over ${transport}, the first time and from the cache`, () => {
      clock.now = START + 2000;
      for (const [what, name, status, labels, id] of TABLE) {
        for (let time = 0; time < 4; time++) {
          ask(name, transport);
          const { rows, answers } = counted();
          assert.deepEqual(rows, transport === 'doh' ? [] : [`${status} ${transport} ${labels} ${id}`], what);
          assert.deepEqual(answers, status === 'hit' && id === ACME ? { [ACME]: 1 } : {}, what);
        }
      }
      const place = (status: QueryStatus) => 4 * TABLE.filter((line) => line[2] === status).length;
      assert.deepEqual(statuses, QUERY_STATUSES.map(place));
    });
  }

  test('finding M7 of the audit: a query after the erasure of an expired record is expired, not a miss', async () => {
    const at = START + 1000;
    clock.now = at;
    // Asked before: the answer is cached.
    const before = send(queryOf('get.brief.open.v1.uqrp.net'), 'udp');
    await apply(expired('brief.acme.v1', at), expired('brief.open.v1', at));
    counted();
    for (const later of [0, 60_000, 600_000]) {
      clock.now = at + later;
      ask(`${AUTH}.brief.acme.v1`);
      ask('get.brief.open.v1');
      ask(`${AUTH}.other.acme.v1`);
      ask('get.brief.acme.v1');
      const miss = `miss udp other.v1 ${ACME}`;
      const refused = `refused udp - ${ACME}`;
      const expected = [`expired udp brief.v1 ${ACME}`, `expired udp brief.v1 ${OPEN}`, miss, refused];
      assert.deepEqual(counted(), { rows: expected, answers: {} });
    }
    // The answer is as if there had never been a record.
    assert.deepEqual(send(queryOf('get.brief.open.v1.uqrp.net'), 'udp'), before);
    clock.now = at + 1_200_000;
    ask(`${AUTH}.brief.acme.v1`);
    assert.equal(counted().rows[1], `miss udp brief.v1 ${ACME}`);
  });

  test('the cache answers most of these: what was counted came from tags', () => {
    for (let time = 0; time < 10; time++) ask(`${AUTH}.temp.acme.v1`);
    const viewed = reads.filter((read) => read === 'record').length;
    assert.equal(viewed, 2);
    assert.deepEqual(counted().answers, { [ACME]: 10 });
  });

  test('public services are counted by status alone; names that are no query are not counted', () => {
    for (let time = 0; time < 3; time++) {
      ask('get.1.units.public.v1');
      ask('get.1.nothing.public.v1', 'tcp');
      for (const name of ['v1', 'acme.v1', 'temp.acme.v1', 'put.temp.acme.v1', 'get.temp.acme.x1', 'ns1']) {
        ask(name);
      }
    }
    send(queryOf('uqrp.net', { qtype: 6 }), 'udp');
    assert.deepEqual(counted(), { rows: [], answers: {} });
    assert.deepEqual(statuses, [3, 3, 0, 0, 0]);
  });

  test('finding L3 of the audit: a question of another type shows its labels with a valid token alone, and is not metered', () => {
    for (const [name, labels] of [
      [`${AUTH}.temp.acme.v1`, 'temp.v1'],
      [`${AUTH}.none.acme.v1`, 'none.v1'],
      ['get.temp.acme.v1', '-'],
      ['info.temp.acme.v1', '-'],
    ] as const) {
      for (const dnssecOk of [false, true]) {
        for (let time = 0; time < 3; time++) ask(name, 'udp', A, dnssecOk);
      }
      assert.deepEqual(
        counted(),
        { rows: new Array(6).fill(`miss udp ${labels} ${ACME}`), answers: {} },
        name,
      );
    }
    ask('get.temp.open.v1', 'udp', A);
    assert.deepEqual(counted().rows, [`miss udp temp.v1 ${OPEN}`]);
    for (const name of [`${AUTH}.temp.acme.v1`, `${AUTH}.none.acme.v1`, 'get.temp.acme.v1'])
      ask(name, 'udp', ANY);
    const any = [`hit udp temp.v1 ${ACME}`, `miss udp none.v1 ${ACME}`, `miss udp - ${ACME}`];
    assert.deepEqual(counted(), { rows: any, answers: {} });
    ask('get.temp.nobody.v1', 'udp', A);
    assert.deepEqual(counted().rows, []);
  });

  test('a reply with TC counts nothing, from the cache either; its repetition over TCP counts', () => {
    const packet = encodeQuery(nameFromText(`${AUTH}.large.acme.v1.uqrp.net`)!, 16, {
      id: 1,
      rd: false,
      edns: null,
    });
    for (let time = 0; time < 4; time++) {
      assert.ok(messageOf(send(packet, 'udp')).tc);
      assert.deepEqual(counted(), { rows: [], answers: {} });
      send(packet, 'tcp');
      assert.deepEqual(counted(), { rows: [`hit tcp large.v1 ${ACME}`], answers: { [ACME]: 1 } });
    }
  });

  test('a reload starts a new cache: every answer before and after it counts once', () => {
    for (let round = 1; round <= 3; round++) {
      for (let time = 0; time < 5; time++) ask(`${AUTH}.temp.acme.v1`, 'tcp');
      handler.reload(zoneOf(keysMadeAt(START), clock));
      for (let time = 0; time < 5; time++) ask(`${AUTH}.temp.acme.v1`, 'dot');
    }
    const { rows, answers } = counted();
    assert.deepEqual(answers, { [ACME]: 30 });
    assert.equal(rows.length, 30);
  });

  test('a cache that holds four replies counts as a large one does', async () => {
    await start({ cache: { entries: 4, octets: 4000 } });
    await apply(...Array.from({ length: 20 }, (_, i) => record(`r${i}.acme.v1`)));
    for (let time = 0; time < 10; time++) {
      for (let i = 0; i < 20; i++) ask(`${AUTH}.r${i}.acme.v1`);
    }
    const { rows, answers } = counted();
    assert.deepEqual(answers, { [ACME]: 200 });
    const expected = new Map(Array.from({ length: 20 }, (_, i) => [`hit udp r${i}.v1 ${ACME}`, 10]));
    const got = new Map<string, number>();
    for (const row of rows) got.set(row, (got.get(row) ?? 0) + 1);
    assert.deepEqual(got, expected);
  });

  test('a namespace that is deleted and made again under its name counts under its new id, from the next packet', async () => {
    const name = `${AUTH}.temp.acme.v1`;
    for (let time = 0; time < 3; time++) {
      ask(name);
      ask('get.temp.acme.v1');
      ask('info.temp.acme.v1');
    }
    assert.equal(counted().rows.filter((row) => row.endsWith(ACME)).length, 9);
    await apply({ type: 'namespace.deleted', namespace: 'acme', id: ACME });
    for (let time = 0; time < 3; time++) {
      ask(name);
      ask('get.temp.acme.v1');
      ask('info.temp.acme.v1');
    }
    assert.deepEqual(counted(), { rows: [], answers: {} }, 'it belongs to nobody');
    const next = '018f0000-0000-7000-8000-00000000000c';
    await apply(
      namespaceUpserted('acme', false, false, next),
      minted('acme', TOKEN, START + 1e9),
      record('temp.acme.v1'),
    );
    ask(name);
    ask('get.temp.acme.v1');
    ask('info.temp.acme.v1');
    const { rows, answers } = counted();
    assert.deepEqual(answers, { [next]: 1 });
    assert.deepEqual(rows, [`hit udp temp.v1 ${next}`, `refused udp - ${next}`, `refused udp - ${next}`]);
  });

  test('a refusal takes the same reads whether or not its namespace exists', () => {
    for (const qtype of [16, A]) {
      for (const operation of ['get', 'info', 'identity']) {
        const taken = ['acme', 'nobody'].map((space) => {
          reads.length = 0;
          ask(`${operation}.temp.${space}.v1`, 'udp', qtype);
          return reads.join();
        });
        assert.equal(taken[0], taken[1], `${operation} ${qtype}`);
      }
    }
  });

  test('an answer that cannot be signed is an error, without labels, and is not metered', async () => {
    const zone = makeZone('uqrp.net', [{ label: 'ns1', addresses: ['192.0.2.1'] }]);
    const fail = (): never => {
      throw new Error('no memory');
    };
    await start({ zones: [signedZone(zone, { sign: fail, nsec: fail })] });
    assert.equal(ask(`${AUTH}.temp.acme.v1`, 'udp', 16, true), 2);
    assert.equal(ask(`${AUTH}.temp.acme.v1`, 'udp', A, true), 2);
    assert.deepEqual(counted(), { rows: [`error udp - ${ACME}`, `error udp - ${ACME}`], answers: {} });
  });

  test('a view that cannot be read is an error of nobody: its namespace is unknown', async () => {
    await start();
    const broken = signedNode({ zones: zoneOf(null, clock), accounting: recorder }, clock);
    Object.assign(broken.view, {
      namespace() {
        throw new Error('unreadable');
      },
    });
    const packet = queryOf(`${AUTH}.temp.acme.v1.uqrp.net`);
    assert.equal(messageOf(broken.handler.slow(packet, 'udp', false) as Uint8Array).rcode, 2);
    assert.deepEqual(counted(), { rows: [], answers: {} });
    assert.equal(statuses[QUERY_STATUSES.indexOf('error')], 1);
  });

  test('neither token, parameter nor name is in what is handed over', () => {
    for (const transport of TRANSPORTS) {
      for (const name of [`${AUTH}.canary.temp.acme.v1`, `get.canary.temp.acme.v1`, 'get.canary.acme.v1']) {
        for (const qtype of [16, A]) ask(name, transport, qtype);
      }
    }
    const text = Buffer.from(recorder.handOver(START)!).toString('latin1');
    for (const secret of [TOKEN, 'svcq', 'auth', 'canary', 'acme', 'uqrp']) assert.ok(!text.includes(secret));
  });
});
