import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { countedIn } from '../../../test/support/dns/query/counted-rows.ts';
import {
  cachedReply,
  isSignedBy,
  keysMadeAt,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import {
  checkpointed,
  keyAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
  withdrawn,
} from '../../../test/support/view/datasets/dataset-changes.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { LIMITS } from '../../base/limits.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { readProofTxt } from '../../protocol/datasets/log-txt.ts';
import { EDE, RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import { readEde } from '../../protocol/dns/message/edns.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { txtValue } from '../../protocol/dns/rdata/rdata.ts';
import { QUERY_STATUSES } from '../../protocol/query/outcome.ts';
import { announcedApply } from '../../view/freshness.ts';
import { createRecorder } from '../accounting/recorder.ts';
import { type JsonDocument, jsonApi } from './json.ts';
import { datasetService } from './operations.ts';
import type { PacketContext } from './packet.ts';

const [OLD, NEW] = [versionIdOf(1), versionIdOf(2)];
const PROOF = 'c2sp.org/tlog-proof@v1\nindex 1\n\napi.example.net/log\n2\n\n— w é\n';
const NOTE = 'api.example.net/log\n2\n\n— w é\n';
/** What nodes have of a registry without a log. */
const REGISTRY: readonly ChangeBody[] = [
  keyAdded(1, 1_795_305_540),
  published(OLD, manifestOf('x', '1.2.0')),
  published(NEW, manifestOf('x', '1.10.0')),
  published(versionIdOf(3), manifestOf('a-t-5', '1.0.0')),
];
const LOGGED = [...REGISTRY, proved(OLD, PROOF), checkpointed(NOTE)];

const clock = { now: START };
const keys = keysMadeAt(START);
const signed = zoneOf(keys, clock);

interface Options extends Partial<Pick<PacketContext, 'zones' | 'accounting'>> {
  readonly log?: boolean;
}

async function node(changes: readonly ChangeBody[], { log = true, zones = signed, ...more }: Options = {}) {
  const view = createMemoryView();
  const { handler, freshness } = signedNode({ zones, view, ...more }, clock, [
    datasetService(view.datasets, { asOf: true, log }),
  ]);
  const apply = (...more: readonly ChangeBody[]): Promise<void> => announcedApply(view, freshness)(more, 1);
  await apply(...changes);
  const reply = (query: Uint8Array): Uint8Array => {
    const made = handler.slow(query, 'tcp', true);
    assert.ok(made instanceof Uint8Array);
    return made;
  };
  const ask = (name: string, qtype?: number) =>
    messageOf(reply(queryOf(`${name}.datasets.public.v1.uqrp.net`, qtype === undefined ? {} : { qtype })));
  return { apply, ask, reply, handler };
}

type Answer = ReturnType<typeof messageOf>;

function textOf({ rcode, answer }: Answer): string | null {
  assert.equal(rcode, RCODE.NOERROR);
  const [txt] = answer.filter(({ type }) => type === RRTYPE.TXT);
  return txt === undefined ? null : Buffer.from(txtValue(txt.rdata)!).toString('latin1');
}

const ttlOf = ({ answer }: Answer) => answer[0]?.ttl;

const NSEC_AT = (message: Answer): string | null => {
  const nsec = message.authority.find(({ type }) => type === RRTYPE.NSEC);
  return nsec === undefined ? null : rdataToText(nsec.type, nsec.rdata).split(' ').slice(1).join(' ');
};

test('a proof and the checkpoint are answered with their fields and TTLs, signed', async () => {
  const { ask } = await node(LOGGED);
  const proof = ask('manifest.x-v-1d2d0.log');
  assert.equal(
    textOf(proof),
    `v=svc-tindex.v1;ds=x;ver=1.2.0;e=b64;d=${Buffer.from(PROOF).toString('base64')}`,
  );
  assert.equal(ttlOf(proof), 3600);
  assert.deepEqual(readProofTxt(textOf(proof)!), { slug: 'x', version: '1.2.0', proof: PROOF });
  const checkpoint = ask('manifest.log');
  assert.equal(textOf(checkpoint), `v=svc-tindex.v1;e=b64;d=${Buffer.from(NOTE).toString('base64')}`);
  assert.equal(ttlOf(checkpoint), 60);
  for (const message of [proof, checkpoint]) assert.ok(isSignedBy(message, keys));
});

test('capitals in a name change nothing', async () => {
  const { ask } = await node(LOGGED);
  assert.equal(textOf(ask('MaNiFeSt.X-V-1D2D0.lOG')), textOf(ask('manifest.x-v-1d2d0.log')));
  assert.equal(textOf(ask('MANIFEST.LOG')), textOf(ask('manifest.log')));
});

test('what is unknown, retired or not proved is NODATA, denied as any name; the latest version has its own proof alone', async () => {
  const { ask, apply } = await node(LOGGED);
  const unproved = [
    'x.log',
    'x-v-1d10d0.log',
    'x-v-9d9d9.log',
    'y.log',
    'keys.log',
    'log.log',
    'log-v-1d0d0',
  ];
  for (const label of unproved) {
    const message = ask(`manifest.${label}`);
    assert.equal(textOf(message), null, label);
    assert.equal(NSEC_AT(message), NSEC_AT(ask('manifest.unknown')), label);
    assert.ok(isSignedBy(message, keys));
  }
  await apply(proved(NEW, 'new\n'));
  assert.equal(readProofTxt(textOf(ask('manifest.x.log'))!)?.version, '1.10.0');
  await apply(withdrawn(NEW));
  assert.equal(readProofTxt(textOf(ask('manifest.x.log'))!)?.version, '1.2.0');
  await apply(withdrawn(OLD));
  assert.equal(textOf(ask('manifest.x.log')), null);
});

test('the types at a name are those of its TXT answer', async () => {
  const { ask } = await node(LOGGED);
  for (const label of ['log', 'x-v-1d2d0.log']) {
    assert.equal(NSEC_AT(ask(`manifest.${label}`, RRTYPE.A)), 'TXT RRSIG NSEC', label);
  }
  assert.equal(NSEC_AT(ask('manifest.a-v-1.log', RRTYPE.A)), 'RRSIG NSEC');
});

test('a name that is not one of these is FORMERR, and its extended error says which part', async () => {
  const { ask } = await node(LOGGED);
  for (const [name, text] of [
    ['manifest.a-v-1.log', 'version not understood'],
    ['manifest.a-k-5.log', 'label not allowed'],
    [`manifest.${'a'.repeat(41)}.log`, 'label not allowed'],
    ['manifest.x.logs', 'label not allowed'],
    ['manifest.x.log.log', 'label not allowed'],
    ['manifest.x.y.log', 'label not allowed'],
    ['manifest.log.x', 'label not allowed'],
    ['identity.x-k-a.log', 'label not allowed'],
    ['identity.log', 'item key not understood'],
  ] as const) {
    const message = ask(name);
    assert.equal(message.rcode, RCODE.FORMERR, name);
    const ede = message.edns?.options.map(readEde).find((found) => found !== null);
    assert.deepEqual([ede?.infoCode, ede?.text], [EDE.OTHER, text], name);
  }
});

test('the longest name of a proof is answered', async () => {
  const slug = 's'.repeat(LIMITS.datasetSlug);
  const version = '1.22222.33333333';
  const { ask, apply } = await node([...LOGGED, published(versionIdOf(4), manifestOf(slug, version))]);
  await apply(proved(versionIdOf(4), PROOF));
  const found = readProofTxt(textOf(ask(`manifest.${slug}-v-${version.replaceAll('.', 'd')}.log`))!);
  assert.deepEqual(found, { slug, version, proof: PROOF });
});

test('a proof of 3,500 octets is answered, and a longer one is NODATA', async () => {
  const room = LIMITS.txtValue - 'v=svc-tindex.v1;ds=x;ver=1.2.0;e=b64;d='.length;
  const { ask, apply } = await node(LOGGED);
  for (const [octets, fits] of [
    [Math.floor(room / 4) * 3, true],
    [Math.floor(room / 4) * 3 + 1, false],
  ] as const) {
    await apply(proved(OLD, 'p'.repeat(octets)));
    assert.equal(textOf(ask('manifest.x-v-1d2d0.log')) !== null, fits);
  }
  await apply(checkpointed('c'.repeat(LIMITS.logText)));
  assert.equal(textOf(ask('manifest.log'))?.length, LIMITS.txtValue);
});

test('a cached answer goes with the change that makes it untrue', async () => {
  const { reply, apply, handler } = await node(LOGGED);
  const question = (name: string) => queryOf(`${name}.datasets.public.v1.uqrp.net`, { dnssecOk: false });
  for (const [name, change] of [
    ['manifest.log', checkpointed('newer\n')],
    ['manifest.x-v-1d10d0.log', proved(NEW, 'new\n')],
    ['manifest.x-v-1d10d0.log', withdrawn(NEW)],
  ] as const) {
    reply(question(name));
    // A question's second answer is the first that is kept.
    const before = reply(question(name));
    assert.notEqual(cachedReply(handler, question(name)), null, name);
    await apply(change);
    assert.equal(cachedReply(handler, question(name)), null, name);
    assert.notDeepEqual(reply(question(name)), before, name);
  }
});

test('the first checkpoint turns the names on for a node that knew of no log', async () => {
  const { reply, apply, ask } = await node(REGISTRY);
  const name = 'manifest.x.log.datasets.public.v1.uqrp.net';
  assert.equal(messageOf(reply(queryOf(name))).rcode, RCODE.FORMERR);
  await apply(checkpointed(NOTE));
  assert.equal(messageOf(reply(queryOf(name))).rcode, RCODE.NOERROR);
  assert.notEqual(textOf(ask('manifest.log')), null);
});

test('the JSON API has them as any answer', async () => {
  const { reply } = await node(LOGGED);
  const name = 'manifest.log.datasets.public.v1.uqrp.net';
  const result = jsonApi(new URLSearchParams({ name, type: 'TXT' }), reply);
  assert.ok(!(result instanceof Promise) && result.kind === 'document');
  const [answer] = (result.document as JsonDocument).Answer;
  assert.equal(answer?.TTL, 60);
  assert.equal(
    answer.data.replaceAll('" "', ''),
    `"v=svc-tindex.v1;e=b64;d=${Buffer.from(NOTE).toString('base64')}"`,
  );
});

test('they are counted as any answer of the operator: by status, and in no row', async () => {
  const statuses = QUERY_STATUSES.map(() => 0);
  const recorder = createRecorder({ startedAt: START, onQuery: (status) => void statuses[status]!++ });
  const { reply } = await node(LOGGED, { accounting: recorder });
  for (const label of ['log', 'x-v-1d2d0.log', 'y.log', 'a-v-1.log']) {
    reply(queryOf(`manifest.${label}.datasets.public.v1.uqrp.net`));
  }
  const { rows, answers } = countedIn(recorder.handOver(START));
  assert.deepEqual([rows, answers], [[], {}]);
  assert.deepEqual(Object.fromEntries(QUERY_STATUSES.map((status, i) => [status, statuses[i]])), {
    hit: 2,
    miss: 1,
    expired: 0,
    error: 1,
    refused: 0,
  });
});

interface Recorded {
  readonly name: string;
  readonly qtype: number;
  /** Hexadecimal, of a zone without keys. */
  readonly reply: string;
  /** Response code, and the types of its NSEC record, in a signed zone. */
  readonly signed: readonly [rcode: number, nsec: string | null];
}

/** Made by the release before the log, of `REGISTRY`. */
const RECORDED = readFileSync(
  new URL('../../../test/fixtures/transparency/answers-without-log.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

for (const [title, changes, log] of [
  ['no log is known', REGISTRY, true],
  ['no log is known, and its names are off', REGISTRY, false],
  ['its names are off, and the view has proofs and a checkpoint', LOGGED, false],
] as const) {
  test(`every answer is octet for octet what it was where ${title}`, async () => {
    const plain = await node(changes, { log, zones: zoneOf(null, clock) });
    const secure = await node(changes, { log });
    assert.ok(RECORDED.length > 50);
    for (const { name, qtype, reply, signed: was } of RECORDED) {
      const label = `${name} ${qtype}`;
      assert.equal(Buffer.from(plain.reply(queryOf(name, { qtype }))).toString('hex'), reply, label);
      const message = messageOf(secure.reply(queryOf(name, { qtype })));
      assert.deepEqual([message.rcode, NSEC_AT(message)], was, label);
    }
  });
}
