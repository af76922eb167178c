import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import dnsPacket from 'dns-packet';
import type { ItemFacts } from '../../src/protocol/datasets/item.ts';
import { CLASS, parseRrtype, RRTYPE, rcodeName, rrtypeName } from '../../src/protocol/dns/codes.ts';
import { readEde } from '../../src/protocol/dns/message/edns.ts';
import { decodeMessage, encodeQuery, type Message, type Rr } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { u16At } from '../../src/protocol/dns/octets.ts';
import { rdataToText } from '../../src/protocol/dns/rdata/present.ts';
import { nameEquals } from '../support/protocol/dns/fixtures.ts';
import {
  facts,
  itemsAdded,
  keyAdded,
  manifestOf,
  published,
  versionIdOf,
  withdrawn,
} from '../support/view/datasets/dataset-changes.ts';
import { TestNode, ZONE } from './node.ts';
import { scenarioServices } from './services.ts';

interface Expectation {
  readonly line: number;
  readonly question: readonly string[];
  readonly expected: string[];
}

type Step = (play: Play) => Promise<void>;

class Play {
  node = new TestNode();
  /** Plaintext and namespace by label. */
  readonly tokens = new Map<string, readonly [token: string, namespace: string]>();
  /** Of the next `items`, by item. */
  windows = new Map<string, ItemFacts[]>();
}

const DIR = new URL('./', import.meta.url);
for (const file of readdirSync(DIR).filter((name) => name.endsWith('.txt'))) {
  test(`scenario ${file}`, async () => {
    const play = new Play();
    for (const step of parse(readFileSync(new URL(file, DIR), 'utf8'), file)) await step(play);
  });
}

function parse(text: string, file: string): Step[] {
  const steps: Step[] = [];
  let open: Expectation | null = null;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [word, ...rest] = line.split(' ') as [string, ...string[]];
    if (word === '?') {
      const asked: Expectation = { line: index + 1, question: rest, expected: [] };
      open = asked;
      steps.push((play) => check(play, asked, `${file}:${asked.line}`));
    } else if (['=', 'an', 'ns', 'ar', 'ede'].includes(word)) {
      assert.ok(open, `${file}:${index + 1} expects before it asks`);
      open.expected.push(line);
    } else {
      const command = COMMANDS[word];
      assert.ok(command, `${file}:${index + 1} unknown line`);
      steps.push((play) => command(play, rest));
    }
  }
  return steps;
}

const COMMANDS: Readonly<Record<string, (play: Play, words: readonly string[]) => Promise<void>>> = {
  async settings(play, words) {
    const on = new Map(words.map((word) => word.split('=') as [string, string]));
    const now = play.node.now;
    const dnssec = on.get('dnssec');
    play.node = new TestNode({
      ...(dnssec === 'full' || dnssec === 'split' ? { dnssec } : {}),
      ...(on.get('datasets') === 'on' ? { datasets: { asOf: on.get('asof') === 'on', log: true } } : {}),
      sync: on.get('sync') !== 'off',
      demo: on.get('demo') === 'on',
      services: on.get('services') === 'on' ? scenarioServices({ btc: on.get('btc') === 'on' }) : [],
    });
    play.node.now = now;
  },
  async namespace(play, [name, ...flags]) {
    const ttl = flags.find((flag) => flag.startsWith('max_ttl='));
    await play.node.namespace(name!, {
      ...(ttl !== undefined && { maxTtl: Number(ttl.slice('max_ttl='.length)) }),
      publicRead: flags.includes('public_read'),
      suspended: flags.includes('suspended'),
    });
  },
  async token(play, [label, namespace, seconds]) {
    play.tokens.set(label!, [await play.node.token(label!, namespace!, Number(seconds)), namespace!]);
  },
  async revoke(play, [label]) {
    await play.node.revoke(...play.tokens.get(label!)!);
  },
  async record(play, [key, format, ttl, expires, payload]) {
    const repeated = /^x(\d+)$/.exec(payload!);
    const data = repeated === null ? Buffer.from(payload!) : Buffer.alloc(Number(repeated[1]), 'x');
    const contentType = format === 'json' ? 'application/json' : 'text/plain';
    await play.node.record(key!, data, {
      contentType,
      ttl: Number(ttl),
      expires: expires === '-' ? null : Number(expires),
    });
  },
  async delete(play, [key]) {
    await play.node.apply({ type: 'record.deleted', key: key!, namespace: key!.split('.').at(-2)! });
  },
  async drop(play, [namespace]) {
    await play.node.apply({ type: 'namespace.deleted', namespace: namespace!, id: '' });
  },
  async key(play, [number, since, end]) {
    await play.node.apply(keyAdded(Number(number), Number(since), end === '-' ? null : Number(end)));
  },
  async window(play, [, item, from, to, brand]) {
    const at = (text: string): number | null => (text === '-' ? null : Number(text));
    const windows = play.windows.get(item!) ?? [];
    play.windows.set(item!, [
      ...windows,
      facts(at(from!), at(to!), { brand: brand!.slice('brand='.length) }),
    ]);
  },
  async items(play, [number]) {
    const items = [...play.windows].map(([item, windows]) => ({ item, windows }));
    play.windows.clear();
    await play.node.apply(itemsAdded(versionIdOf(Number(number)), ...items));
  },
  async publish(play, [number, slug, version]) {
    await play.node.apply(published(versionIdOf(Number(number)), manifestOf(slug!, version!)));
  },
  async withdraw(play, [number]) {
    await play.node.apply(withdrawn(versionIdOf(Number(number))));
  },
  async advance(play, [seconds]) {
    play.node.now += Number(seconds) * 1000;
  },
};

async function check(play: Play, asked: Expectation, where: string): Promise<void> {
  const [nameText, type, ...flags] = asked.question;
  const text = nameText!.replace(/\$(\w+)/, (_, label: string) => play.tokens.get(label)![0]);
  const absolute = text.endsWith('.') ? text : `${text}.${ZONE}.`;
  const qname = nameFromText(absolute);
  assert.ok(qname, `${where}: no name`);
  const transport = flags.includes('tcp') ? 'tcp' : 'udp';

  // Uncached, stored at the second query, from the cache, and in mixed case: all replies are equal.
  for (const [way, name] of [
    ['uncached', qname],
    ['uncached', qname],
    ['cached', qname],
    // `b64-` labels are case-sensitive.
    ['mixed case', flags.includes('exact') ? qname : mixCase(qname)],
  ] as const) {
    const query = makeQuery(name, parseRrtype(type!)!, flags);
    const reply = await play.node.ask(query, transport, way !== 'uncached');
    assert.ok(reply, `${where}: silence`);
    dnsPacket.decode(Buffer.from(reply));
    const message = decodeMessage(reply);
    assert.ok(message, `${where}: the reply does not decode`);
    assert.equal(message.id, 0x1234, where);
    assert.ok(message.qr && !message.ra && !message.ad, `${where}: QR set, RA and AD clear`);
    assert.deepEqual(message.question[0]?.qname, name, `${where}: the question comes back as sent`);
    assert.equal(message.edns !== null, hasEdns(flags), `${where}: OPT if and only if asked`);
    assert.deepEqual(describe(message, asked.expected), wanted(asked.expected, flags), `${where} (${way})`);
    if (transport === 'udp') assert.ok(reply.length <= 1232, `${where}: too long for UDP`);
  }
}

function makeQuery(qname: Uint8Array, qtype: number, flags: readonly string[]): Uint8Array {
  const payload = flags.find((flag) => flag.startsWith('payload='));
  return encodeQuery(qname, qtype, {
    id: 0x1234,
    rd: !flags.includes('norec'),
    cd: flags.includes('cd'),
    qclass: flags.includes('ch') ? CLASS.CH : CLASS.IN,
    edns: hasEdns(flags)
      ? {
          payload: payload === undefined ? 1232 : Number(payload.slice(8)),
          dnssecOk: flags.includes('do'),
        }
      : null,
  });
}

function hasEdns(flags: readonly string[]): boolean {
  return flags.some((flag) => flag === 'edns' || flag === 'do' || flag.startsWith('payload='));
}

/** The reply in the notation of the expectation. Where that has `*` as rdata, the result has it too. */
function describe(message: Message, expected: readonly string[]): string[] {
  const flags = (['aa', 'tc', 'rd', 'cd'] as const).filter((flag) => message[flag]);
  const lines = [['=', rcodeName(message.rcode), ...flags].join(' ')];
  const wild = expected.filter((line) => /^(an|ns|ar) /.test(line)).map((line) => line.endsWith(' *'));
  for (const [word, section] of [
    ['an', message.answer],
    ['ns', message.authority],
    ['ar', message.additional],
  ] as const) {
    for (const rr of section) {
      assertOwner(word, rr, message);
      const rdata = wild[lines.length - 1] ? '*' : rdataToText(rr.type, rr.rdata);
      lines.push(`${word} ${rr.ttl} ${rrtypeName(rr.type)} ${rdata}`);
    }
  }
  const ede = message.edns?.options.map(readEde).find((option) => option !== null);
  if (ede) {
    const isTextNamed = expected.some((line) => /^ede \d+ /.test(line));
    lines.push(`ede ${ede.infoCode}${isTextNamed ? ` ${ede.text}` : ''}`);
  }
  return lines;
}

/** Checks owner names: answers and proofs have the query's name, SOA and its signatures the zone's apex. */
function assertOwner(section: string, rr: Rr, message: Message): void {
  const { qname } = message.question[0]!;
  const covered = rr.type === RRTYPE.RRSIG ? u16At(rr.rdata, 0) : rr.type;
  if (section === 'an' || covered === RRTYPE.NSEC) assert.deepEqual(rr.owner, qname);
  else if (section === 'ns') assert.ok(nameEquals(rr.owner, nameFromText(ZONE)!));
}

function wanted(expected: readonly string[], flags: readonly string[]): string[] {
  const [head, ...rest] = expected;
  const [equals, rcode, ...named] = head!.split(' ');
  const all = new Set([...named, ...(flags.includes('norec') ? [] : ['rd'])]);
  const ordered = ['aa', 'tc', 'rd', 'cd'].filter((flag) => all.has(flag));
  return [[equals, rcode, ...ordered].join(' '), ...rest];
}

function mixCase(name: Uint8Array): Uint8Array {
  let upper = false;
  return name.map((octet) => {
    upper = !upper;
    return upper && octet >= 0x61 && octet <= 0x7a ? octet - 0x20 : octet;
  });
}
