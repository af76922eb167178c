/** Other projects' validators check our records. Each is skipped where it is not installed. */

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { txt } from '../../../test/support/dns/dnssec/keys.ts';
import { nameEquals, nameOfLabels, wireName } from '../../../test/support/protocol/dns/fixtures.ts';
import { CLASS, RCODE, RRTYPE, rrtypeName } from '../../protocol/dns/codes.ts';
import { decodeMessage, encodeMessage, type Question, type Rr } from '../../protocol/dns/message/message.ts';
import { isSubdomain, nameToText } from '../../protocol/dns/name.ts';
import { concatOctets } from '../../protocol/dns/octets.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { aRdata, nsRdata, soaRdata } from '../../protocol/dns/rdata/rdata.ts';
import { dsLines, generateKey, generateKeySet, type KeySet } from './key-set.ts';
import { nsecRdata, typeBitmap } from './nsec.ts';
import type { SignableRrset } from './rrsig.ts';
import { makeSigner, type Signer } from './signer.ts';

const NXNAME_TYPES: readonly number[] = [RRTYPE.RRSIG, RRTYPE.NSEC, RRTYPE.NXNAME];
const existingTypes = (types: readonly number[]): readonly number[] => [...types, RRTYPE.RRSIG, RRTYPE.NSEC];

const ZONE = 'uqrp.test';
const apex = wireName(ZONE);
const run = promisify(execFile);

/** A reason to skip, or false. */
function without(tool: string): string | false {
  return spawnSync(tool, ['-v']).error === undefined ? false : `${tool} is not installed`;
}

function rrset(owner: string, type: number, ...rdata: Uint8Array[]): SignableRrset {
  return { owner: wireName(owner), type, ttl: 300, rdata };
}

const soa = rrset(
  ZONE,
  RRTYPE.SOA,
  soaRdata({
    mname: wireName(`NS1.${ZONE}`),
    rname: wireName(`Hostmaster.${ZONE}`),
    serial: 1,
    refresh: 14_400,
    retry: 3600,
    expire: 1_209_600,
    minimum: 300,
  }),
);

/** In canonical order, as the NSEC chain of a zone file wants them. */
const CONTENT: readonly SignableRrset[] = [
  soa,
  rrset(ZONE, RRTYPE.NS, nsRdata(wireName(`NS1.${ZONE}`))),
  txt(`a.${ZONE}`, 300, 'b', 'a', 'aa', 'x'.repeat(200)),
  rrset(`ns1.${ZONE}`, RRTYPE.A, aRdata('192.0.2.2')!, aRdata('192.0.2.1')!),
  txt(`*.w.${ZONE}`, 300, 'wild'),
];

function lines(set: SignableRrset, signer: Signer): string[] {
  const { rrsigs } = signer.sign(set);
  const records = [
    ...set.rdata.map((rdata) => [set.type, rdata] as const),
    ...rrsigs.map((rrsig) => [RRTYPE.RRSIG, rrsig] as const),
  ];
  const owner = nameToText(set.owner);
  return records.map(
    ([type, rdata]) => `${owner} ${set.ttl} IN ${rrtypeName(type)} ${rdataToText(type, rdata)}`,
  );
}

/** The zone with a whole chain of NSEC records, made of our bitmaps, as a zone file. */
function zoneFile(signer: Signer): string {
  const sets = [...CONTENT, signer.dnskey, signer.cds, signer.cdnskey];
  const owners = [...new Set(sets.map(({ owner }) => nameToText(owner)))];
  const chain = owners.map((owner, i): SignableRrset => {
    const types = sets.filter((set) => nameToText(set.owner) === owner).map(({ type }) => type);
    const next = wireName(owners[(i + 1) % owners.length]!);
    return rrset(owner, RRTYPE.NSEC, concatOctets([next, typeBitmap(existingTypes(types))]));
  });
  return `${[...sets, ...chain].flatMap((set) => lines(set, signer)).join('\n')}\n`;
}

/** Two rollovers under way, so that DNSKEY holds what it can hold. */
function busyKeys(): KeySet {
  const { keys } = generateKeySet(ZONE, Date.now());
  const more = (['ksk', 'zsk'] as const).map((role) => generateKey(role, 'published', Date.now(), new Set()));
  return { zone: ZONE, keys: [...keys, ...more] };
}

const VERIFIERS: readonly [string, readonly string[]][] = [
  // -z: any key may sign anything; without it, each algorithm would need a KSK and a ZSK.
  ['dnssec-verify', ['-z', '-o', ZONE]],
  ['ldns-verify-zone', []],
];

for (const [tool, args] of VERIFIERS) {
  test(`${tool} accepts a zone of ours, and notices a change in it`, { skip: without(tool) }, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-oracle-'));
    try {
      const path = join(dir, 'zone');
      for (const keys of [generateKeySet(ZONE, Date.now()), busyKeys()]) {
        const signer = makeSigner({ keys, mode: 'full', clock: Date.now });
        const text = zoneFile(signer);
        writeFileSync(path, text);
        await run(tool, [...args, path]);
        writeFileSync(path, text.replace('"wild"', '"tame"'));
        await assert.rejects(run(tool, [...args, path]));
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
}

/** Answers as RFC 9824 has it: what is there, else the one NSEC record of the name asked for. */
function answerTo({ qname, qtype }: Question, signer: Signer): { answer: Rr[]; authority: Rr[] } {
  const sets = [...CONTENT, signer.dnskey, signer.cds, signer.cdnskey];
  const here = sets.filter(({ owner }) => nameEquals(owner, qname));
  const found = here.find(({ type }) => type === qtype);
  if (found !== undefined) return { answer: signed({ ...found, owner: qname }, signer), authority: [] };
  const types = here.length === 0 ? NXNAME_TYPES : existingTypes(here.map(({ type }) => type));
  const nsec = { owner: qname, type: RRTYPE.NSEC, ttl: 300, rdata: [nsecRdata(qname, types, apex)] };
  return { answer: [], authority: [...signed(soa, signer), ...signed(nsec, signer)] };
}

function signed(set: SignableRrset, signer: Signer): Rr[] {
  const rr = (type: number) => (rdata: Uint8Array) => {
    return { owner: set.owner, type, class: CLASS.IN, ttl: set.ttl, rdata };
  };
  return [...set.rdata.map(rr(set.type)), ...signer.sign(set).rrsigs.map(rr(RRTYPE.RRSIG))];
}

/** A name server over UDP that knows this zone alone. */
async function serve(signer: Signer): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.on('message', (bytes, peer) => {
    const query = decodeMessage(Uint8Array.from(bytes));
    if (query === null) return;
    const edns = { payload: 1232, version: 0, dnssecOk: true, options: [] };
    const [question] = query.question;
    const said = isSubdomain(question!.qname, apex) ? answerTo(question!, signer) : { rcode: RCODE.REFUSED };
    socket.send(encodeMessage({ ...query, qr: true, aa: true, edns, ...said }), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', resolve);
  });
  return socket;
}

/** Digests are hex in one group, as delv wants them in quotes. */
function anchors(keys: KeySet): string {
  const ds = dsLines(keys).map((line) => line.split(' ').slice(3));
  const entries = ds.map(([tag, algorithm, digestType, digest]) => {
    return `"${ZONE}" static-ds ${tag} ${algorithm} ${digestType} "${digest}";`;
  });
  return `trust-anchors { ${entries.join(' ')} };\n`;
}

test('delv trusts answers and denials', { skip: without('delv') }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-oracle-'));
  const keys = generateKeySet(ZONE, Date.now());
  const path = join(dir, 'anchors');
  writeFileSync(path, anchors(keys));
  const longest = [54, 55].map((length) =>
    nameToText(concatOctets([nameOfLabels(length, 63, 63, 59).slice(0, -1), apex])),
  );
  const cases: [string, string, RegExp][] = [
    [ZONE, 'DNSKEY', /fully validated[\s\S]*DNSKEY\s257 3 13/],
    [ZONE, 'SOA', /fully validated[\s\S]*SOA/],
    [ZONE, 'CDS', /fully validated[\s\S]*CDS/],
    [`a.${ZONE}`, 'TXT', /fully validated[\s\S]*"aa"/],
    [`A.${ZONE.toUpperCase()}`, 'TXT', /fully validated[\s\S]*"aa"/],
    [`ns1.${ZONE}`, 'A', /fully validated[\s\S]*192\.0\.2\.1/],
    [`a.${ZONE}`, 'A', /negative response, fully validated/],
    [`NONE.${ZONE.toUpperCase()}`, 'TXT', /negative response, fully validated/],
    [ZONE, 'TXT', /negative response, fully validated/],
    [`none.${ZONE}`, 'TXT', /negative response, fully validated/],
    ...longest.map((name): [string, string, RegExp] => [name, 'TXT', /negative response, fully validated/]),
  ];
  try {
    for (const mode of ['full', 'split'] as const) {
      const signer = makeSigner({ keys, mode, clock: Date.now });
      const socket = await serve(signer);
      const port = String((socket.address() as AddressInfo).port);
      try {
        for (const [name, type, expected] of cases) {
          const args = ['@127.0.0.1', '-p', port, '-a', path, `+root=${ZONE}`, name, type];
          const { stdout } = await run('delv', args);
          assert.match(stdout, expected, `${mode} ${name} ${type}`);
        }
      } finally {
        socket.close();
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
