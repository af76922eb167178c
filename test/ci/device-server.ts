/**
 * The examples of device/ against a real server, over UDP and TCP: on a path that loses packets and adds others, with an attacker on it,
 * and against NSD and Knot with the same records. Needs gcc; what else is not installed is skipped with a line that says so.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Peer, startKnot, startNsd } from '../../bench/lib/peers.ts';
import { envelopeOf, replyOf, replyWith, signedPayload } from '../support/device/messages.ts';
import {
  type NetworkPath,
  type Rules,
  startForger,
  startPath,
  startTrickle,
} from '../support/device/path.ts';
import { run } from '../support/device/program.ts';
import { freePort } from '../support/free-port.ts';
import { requirePrograms } from '../support/process.ts';
import { type Account, account, startUqrp, type Uqrp, writeRecords } from '../support/server-process.ts';

const DEVICE = fileURLToPath(new URL('../../device', import.meta.url));
const OPTIONS = [
  '-std=c99',
  '-g',
  '-O1',
  '-Wall',
  '-Wextra',
  '-Wpedantic',
  '-Wconversion',
  '-Werror',
  '-fsanitize=address,undefined',
];
/** With it and a token, the query name has 97 characters. */
const KEY = 'pump33.status.plant.v1';
const LENGTHS = [0, 1, 786, 787, 2586];
const SIGNED = 'pump-3.enabled.plant.v1';
const LOSS = 0.2;
const LOSSY_READS = 25;

requirePrograms({ gcc: 'gcc' });
const folder = mkdtempSync(join(tmpdir(), 'uqrp-device-'));
const server = await startUqrp({ UQRP_WORKERS: '1' });
const path = await startPath(server.ports.dns);
try {
  const owner = account(server);
  const token = await prepare(server, owner);
  const example = compile('example.c');
  await results(example, token);
  await sizes(example, token, owner);
  await losses(example, token);
  await retries(example);
  await peers(example, token);
  await python(token);
  if (existsSync('/usr/include/openssl/evp.h'))
    await killSwitch(compile('switch.c', '-lcrypto'), owner, token);
  else tell('skipped: the kill switch needs the Debian package libssl-dev');
} finally {
  path.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

function tell(text: string): void {
  process.stdout.write(`${text}\n`);
}

function compile(name: string, ...libraries: readonly string[]): string {
  const program = join(folder, name.replace('.c', ''));
  const source = join(DEVICE, 'examples', name);
  execFileSync('gcc', [...OPTIONS, `-I${DEVICE}`, '-o', program, source, ...libraries], { stdio: 'inherit' });
  return program;
}

function bytes(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, index) => (index * 7) % 256));
}

function keyOf(size: number): string {
  return size === 786 ? KEY : KEY.replace('33', String(size).padStart(2, '0'));
}

/** Namespaces `plant`, with a token, and `open`, which needs none. @returns the token */
async function prepare(uqrp: Uqrp, owner: Account): Promise<string> {
  const { body } = await owner.call('POST', '/namespaces', { namespace: { name: 'plant' } });
  const { id } = body as { id: string };
  const made = await owner.call('POST', `/namespaces/${id}/query_tokens`, { name: 'pump' });
  await owner.call('POST', '/namespaces', { namespace: { name: 'open' } });
  uqrp.cli(['namespace', 'public-read', 'open', 'on']);
  await writeRecords(owner, [
    ...LENGTHS.map((size) => ({ key: keyOf(size), data: bytes(size).toString('base64') })),
    { key: 'text.status.open.v1', data: Buffer.from('hello; d=world').toString('base64') },
  ]);
  const { token } = made.body as { token: string };
  await Promise.all([`auth-${token}.${keyOf(2586)}`, 'text.status.open.v1'].map((name) => shown(name)));
  return token;
}

/** Waits until a name is answered. @returns the answer's data as in a zone file */
async function shown(name: string, holds = 'd='): Promise<string> {
  const until = Date.now() + 60_000;
  for (;;) {
    const url = `http://127.0.0.1:${server.ports.http}/resolve?name=get.${name}.uqrp.net&type=TXT`;
    const { Answer } = (await (await fetch(url)).json()) as { Answer?: readonly { data: string }[] };
    const [answer] = Answer ?? [];
    if (answer?.data.replaceAll('" "', '').includes(holds) === true) return answer.data;
    assert.ok(Date.now() < until, `no answer to ${name}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

type Work = (path: NetworkPath) => Promise<void>;

async function through(rules: Rules, work: Work): Promise<void> {
  path.rules = rules;
  Object.assign(path.counts, { queries: 0, streams: 0 });
  path.seen.length = 0;
  await work(path);
  path.rules = {};
}

/**
 * Work after which the path has seen so many queries. What is answered later than the second that a device waits, on a busy machine, is asked
 * once more: then the work is done again.
 */
async function withQueries(queries: number, rules: () => Rules, work: Work): Promise<void> {
  for (let tries = 1; ; tries++) {
    await through(rules(), work);
    if (path.counts.queries === queries) return;
    assert.ok(tries < 5, `${path.counts.queries} queries, not ${queries}`);
  }
}

async function results(example: string, token: string): Promise<void> {
  const to = ['127.0.0.1', String(server.ports.dns)];
  const cases: readonly (readonly [readonly string[], number, string])[] = [
    [['text.status.open.v1'], 0, 'hello; d=world'],
    [['TEXT.Status.Open.v1'], 0, 'hello; d=world'],
    [[KEY], 1, 'REFUSED\n'],
    [[KEY, `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`], 1, 'REFUSED\n'],
    [['none.status.open.v1'], 1, 'EMPTY\n'],
    [['a_b.status.open.v1'], 1, 'FAILED\n'],
    [['nowhere.time.public.v1'], 1, 'SERVICE\n'],
    [
      ['100-km-to-mi.units.public.v1'],
      0,
      'v=svc1;s=ok;t=data;val=100;from=km;to=mi;res=62.1371192237;cat=length',
    ],
    [['a..b'], 2, 'no name is possible for this key, token and zone\n'],
  ];
  for (const [args, code, text] of cases) {
    const ran = await run(example, [...to, ...args]);
    assert.deepEqual([ran.code, code === 0 ? ran.out.toString() : ran.errors], [code, text], String(args));
  }
  tell(`results: ${cases.length} as the page says`);
}

/** 786 octets fit into one reply over UDP with a name of 97 characters, 787 do not. */
async function sizes(example: string, token: string, owner: Account): Promise<void> {
  assert.equal(`get.auth-${token}.${KEY}.uqrp.net`.length, 97);
  const plain = (): Rules => ({});
  for (const size of LENGTHS) {
    const work: Work = async ({ port, counts }) => {
      const ran = await run(example, ['127.0.0.1', String(port), keyOf(size), token]);
      assert.equal(ran.errors, '');
      assert.ok(ran.out.equals(bytes(size)), `${size} octets: ${ran.out.length}`);
      if (size !== 787 && counts.queries === 1)
        assert.equal(counts.streams, size > 786 ? 1 : 0, `${size} octets`);
    };
    await (size === 787 ? through({}, work) : withQueries(1, plain, work));
  }
  // Plain text takes three quarters of the room that Base64 takes.
  for (const [index, [text, streams]] of [
    ['a;b=c;d=e', 0],
    ['ü'.repeat(523), 0],
    ['x'.repeat(1047), 1],
    ['x'.repeat(2586), 1],
  ].entries() as Iterable<[number, [string, number]]>) {
    const key = KEY.replace('33', `p${index}`);
    const record = { key, data: Buffer.from(text).toString('base64'), encoding: 'plain' };
    assert.equal((await owner.call('POST', '/records', { record })).status, 201);
    await shown(`auth-${token}.${key}`);
    await withQueries(1, plain, async ({ port, counts }) => {
      const ran = await run(example, ['127.0.0.1', String(port), key, token]);
      assert.equal(ran.out.toString(), text);
      if (counts.queries === 1) assert.equal(counts.streams, streams, `${text.length} letters`);
    });
  }
  tell(`sizes: ${LENGTHS.join(', ')} octets, and plain text`);
}

/** One packet in five is lost on each way, and each query gets replies with a wrong id, question or direction, or with TC. */
async function losses(example: string, token: string): Promise<void> {
  let state = 4;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const forge = (query: Buffer): readonly Buffer[] => {
    const wrong = (change: (packet: Buffer) => unknown): Buffer => {
      const packet = replyWith(query, envelopeOf(Buffer.from('wrong')));
      change(packet);
      return packet;
    };
    const strays = [
      wrong((packet) => packet.writeUInt16BE(query.readUInt16BE(0) ^ 1, 0)),
      wrong((packet) => packet.writeUInt8(packet[14]! ^ 1, 14)),
      wrong((packet) => packet.writeUInt8(0x01, 2)),
      Buffer.from(query),
      Buffer.alloc(5, 255),
    ];
    return random() < 0.3 ? [...strays, replyOf(query, [], 0x8780)] : strays;
  };
  let failed = 0;
  await through({ forge, isLost: () => random() < LOSS }, async ({ port, counts }) => {
    for (let index = 0; index < LOSSY_READS; index++) {
      const size = LENGTHS[index % LENGTHS.length]!;
      const ran = await run(example, ['127.0.0.1', String(port), keyOf(size), token]);
      if (ran.errors === 'no reply\n') failed++;
      else assert.ok(ran.out.equals(bytes(size)), `${size} octets: ${ran.out.length} ${ran.errors}`);
    }
    assert.ok(counts.queries > LOSSY_READS, 'no query was sent twice');
    assert.ok(counts.streams > 0);
    tell(
      `losses: ${LOSSY_READS} reads, ${counts.queries} queries, ${counts.streams} connections, ${failed} without a reply`,
    );
  });
  // One read in 160 may find five attempts lost. What is lost differs where a late reply is asked for again: two of 25 are once in 90 runs.
  assert.ok(failed <= 2, `${failed} reads without a reply`);
}

/** Each attempt has an id and a port of its own. */
async function retries(example: string): Promise<void> {
  await through({ isLost: () => true }, async ({ port, seen }) => {
    const ran = await run(example, ['127.0.0.1', String(port), 'text.status.open.v1']);
    assert.deepEqual([ran.code, ran.errors], [1, 'no reply\n']);
    assert.equal(seen.length, 5);
    assert.ok(new Set(seen.map(({ id }) => id)).size > 3, 'the same id again');
    assert.ok(new Set(seen.map((each) => each.port)).size > 3, 'the same port again');
  });
  tell('retries: five attempts with new ids and ports');
}

/** The same records, served by others. */
async function peers(example: string, token: string): Promise<void> {
  const names = LENGTHS.map((size) => `auth-${token}.${keyOf(size)}`);
  const rows = await Promise.all(
    names.map(async (name) => `get.${name}.uqrp.net. 60 IN TXT ${await shown(name)}\n`),
  );
  const zone = `uqrp.net. 60 IN SOA ns.uqrp.net. h.uqrp.net. 1 60 60 60 60\nuqrp.net. 60 IN NS ns.uqrp.net.\nns.uqrp.net. 60 IN A 127.0.0.1\n${rows.join('')}`;
  for (const [program, begin] of [
    ['nsd', startNsd],
    ['knotd', startKnot],
  ] as const) {
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) {
      tell(`skipped: ${program} is not installed`);
      continue;
    }
    const peer: Peer = begin('uqrp.net', zone, await freePort());
    try {
      for (const size of LENGTHS) {
        // A server that has not started refuses the packets: the first attempts are lost.
        const ran = await run(example, ['127.0.0.1', String(peer.port), keyOf(size), token]);
        assert.ok(ran.out.equals(bytes(size)), `${peer.name}, ${size} octets: ${ran.errors}`);
      }
      const none = await run(example, ['127.0.0.1', String(peer.port), 'none.status.plant.v1']);
      assert.equal(none.errors, 'EMPTY\n', peer.name);
      tell(`${peer.name}: the same records`);
    } finally {
      await peer.remove();
    }
  }
}

/** `read` of the module, with the sockets of Python. */
async function python(token: string): Promise<void> {
  if (spawnSync('python3', ['--version']).status !== 0) {
    tell('skipped: python3 is not installed');
    return;
  }
  const script = join(folder, 'read.py');
  writeFileSync(
    script,
    `import sys\nsys.path.insert(0, ${JSON.stringify(DEVICE)})\nimport uqrp\n` +
      `only = (lambda r: r.data != b"forged") if len(sys.argv) > 5 else None\n` +
      `waits = eval(sys.argv[6]) if len(sys.argv) > 6 else (1, 2, 4, 4, 4)\n` +
      `result, record = uqrp.read(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], waits=waits, accept=only)\n` +
      `sys.stderr.write(result + "\\n")\nsys.stdout.buffer.write(record.data if record else b"")\n`,
  );
  const read = (port: number, ...args: string[]) =>
    run('python3', ['-B', script, '127.0.0.1', String(port), ...args]);
  for (const size of LENGTHS) {
    const ran = await read(server.ports.dns, keyOf(size), token);
    assert.deepEqual([ran.errors, ran.out.equals(bytes(size))], ['OK\n', true], `${size} octets`);
  }
  assert.equal((await read(server.ports.dns, KEY, '')).errors, 'REFUSED\n');
  const forge = (query: Buffer) => [
    Buffer.alloc(3),
    replyWith(query, envelopeOf(Buffer.from('forged'))),
    replyOf(query, [], 0x8185),
  ];
  const losingOne = (): Rules => {
    let lost = 1;
    return { forge, isLost: () => lost-- > 0 };
  };
  await withQueries(2, losingOne, async ({ port }) => {
    const ran = await read(port, KEY, token, 'accept');
    assert.deepEqual([ran.errors, ran.out.equals(bytes(786))], ['OK\n', true]);
  });
  // A reply over TCP that trickles in does not hold the device: two attempts end after 4 seconds each.
  const trickle = await startTrickle();
  const truncate = (query: Buffer) => [replyOf(query, [], 0x8780), replyOf(query, [], 0x8780)];
  await through(
    { forge: truncate, isLost: () => true, streamPort: trickle.port },
    async ({ port, counts }) => {
      const ran = await read(port, KEY, token, 'accept', '(1, 1)');
      assert.deepEqual([ran.errors, counts.queries, counts.streams], ['TIMEOUT\n', 2, 2]);
    },
  );
  trickle.close();
  tell('python: the same records, and a forged reply is passed over');
}

/** The switch of docs/DEVICES.md, with somebody on the path who answers first. */
async function killSwitch(program: string, owner: Account, token: string): Promise<void> {
  const files = ['new', 'next'].map((name) => {
    const file = join(folder, `${name}.pem`);
    writeFileSync(file, server.cli(['key', 'new', '--sign']), { mode: 0o600 });
    return file;
  });
  const [first = '', second = ''] = files;
  const pinned = files.map((file) => server.cli(['key', 'public', file]).trim().split('\n').at(-1)).join(',');
  const state = join(folder, 'state');
  /** Signs and writes as a person does. @returns the signed value */
  const write = async (value: string, file: string): Promise<Buffer> => {
    server.cli(['put', SIGNED, value, '--sign', file]);
    const until = Date.now() + 60_000;
    for (const before = latest; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const answer = await shown(`auth-${token}.${SIGNED}`);
      latest = Buffer.from(/;d=([^"]*)/.exec(answer.replaceAll('" "', ''))![1]!, 'base64');
      if (!latest.equals(before)) return latest;
      assert.ok(Date.now() < until, 'the signed record is not answered');
    }
  };
  let latest = Buffer.alloc(0);
  const read = async (rules: Rules, expected: string, errors = ''): Promise<void> => {
    await through(rules, async ({ port }) => {
      const ran = await run(program, ['127.0.0.1', String(port), SIGNED, pinned, state, token]);
      assert.deepEqual(
        [ran.out.toString(), ran.errors],
        [`${expected}\n`, errors && `kept the last value: ${errors}\n`],
      );
      assert.equal(ran.code, errors === '' ? 0 : 1);
      // Forged replies with TC do not make it connect again and again.
      assert.ok(path.counts.streams <= path.counts.queries);
    });
  };
  const forged = (data: Buffer) => (query: Buffer) => [replyWith(query, envelopeOf(data))];
  const isReply = (packet: Buffer): boolean => (packet[2]! & 0x80) !== 0;

  await writeRecords(owner, [{ key: SIGNED, data: '' }]);
  await shown(`auth-${token}.${SIGNED}`);
  await read({ isLost: () => true }, 'off', 'no reply');
  const on = await write('on', first);
  await read({}, 'on');
  const off = await write('off', first);
  await read({}, 'off');
  const attacks: Readonly<Record<string, (query: Buffer) => readonly Buffer[]>> = {
    UNSIGNED: forged(Buffer.from('on')),
    OLDER: forged(on),
    FORGED: forged(signedPayload(SIGNED, Date.now() + 60_000, Buffer.from('on'))),
    EMPTY: (query) => [replyOf(query, [])],
    REFUSED: (query) => [replyOf(query, [], 0x8185)],
    FORMAT: (query) => [replyWith(query, 'on')],
  };
  for (const [result, forge] of Object.entries(attacks)) {
    // The attacker keeps the true reply away: the last value holds.
    if (result === 'OLDER' || result === 'UNSIGNED') await read({ forge, isLost: isReply }, 'off', result);
    // It comes after the forged one: it counts.
    await read({ forge }, 'off');
  }
  // The record of another pump, which was signed later.
  server.cli(['put', 'pump-4.enabled.plant.v1', 'on', '--sign', first]);
  const neighbour = await shown(`auth-${token}.pump-4.enabled.plant.v1`);
  const other = Buffer.from(/;d=([^"]*)/.exec(neighbour.replaceAll('" "', ''))![1]!, 'base64');
  await read({ forge: forged(other) }, 'off');
  // A forged TC, and a server of the attacker's behind it.
  const forger = await startForger((query) => replyWith(query, envelopeOf(on)));
  const truncate = (query: Buffer) => [replyOf(query, [], 0x8780), replyOf(query, [], 0x8780)];
  await read({ forge: truncate, streamPort: forger.port }, 'off');
  forger.close();
  // The second pinned key takes over, and the old record is refused from then on.
  await write('on', second);
  await read({}, 'on');
  await read({ forge: forged(off) }, 'on');
  tell(`kill switch: ${Object.keys(attacks).length + 3} kinds of forged replies changed nothing`);
}
