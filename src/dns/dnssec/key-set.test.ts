import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { keyFromOctets } from '../../../test/support/dns/dnssec/keys.ts';
import { fromHex, toHex, wireName } from '../../../test/support/protocol/dns/fixtures.ts';
import { keyFile, loadKeys, updateKeys } from './key-files.ts';
import {
  apexOf,
  dnskeyRdata,
  dsLines,
  dsRdata,
  generateKey,
  generateKeySet,
  KeyError,
  type KeySetData,
  keySetData,
  keyTag,
  readKeySet,
} from './key-set.ts';

const NOW = Date.UTC(2026, 0, 1);
const ZONE = 'uqrp.net';
const DAMAGE = 'the keys of uqrp.net are not readable';

function inTempDir(run: (dir: string) => void | Promise<void>): () => Promise<void> {
  return async () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-keys-'));
    try {
      await run(dir);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  };
}

test('RFC 4034 section 5.4: key tag 60485', () => {
  const publicOctets = Buffer.from(
    'AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+' +
      'X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==',
    'base64',
  );
  const rdata = dnskeyRdata(256, 5, publicOctets);
  assert.equal(keyTag(rdata), 60485);
  // RFC 4509 section 2.3, in the same example.
  const ds = dsRdata(wireName('dskey.example.com'), { keyTag: 60485, algorithm: 5, dnskeyRdata: rdata });
  const digest = 'd4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a';
  assert.equal(toHex(ds), `ec450502${digest}`);
});

test('RFC 6605 section 6.1 and RFC 8080 section 6.1: DS', () => {
  const p256 = keyFromOctets(
    257,
    13,
    'GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=',
    'GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==',
  );
  const ed25519 = keyFromOctets(
    257,
    15,
    'ODIyNjAzODQ2MjgwODAxMjI2NDUxOTAyMDQxNDIyNjI=',
    'l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=',
  );
  const digests = [
    [wireName('Example.NET'), p256, 'b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17'],
    [wireName('example.com'), ed25519, '3aa5ab37efce57f737fc1627013fee07bdf241bd10f3b1964ab55c78e79a304b'],
  ] as const;
  for (const [owner, key, digest] of digests) assert.equal(toHex(dsRdata(owner, key)).slice(8), digest);
});

test('a new set: an active P-256 KSK and an active Ed25519 ZSK', () => {
  const { zone, keys } = generateKeySet(ZONE, NOW);
  assert.equal(zone, ZONE);
  const shapes = keys.map((key) => [key.role, key.algorithm, key.flags, key.state, key.dnskeyRdata.length]);
  assert.deepEqual(shapes, [
    ['ksk', 13, 257, 'active', 4 + 64],
    ['zsk', 15, 256, 'active', 4 + 32],
  ]);
  for (const key of keys) {
    assert.equal(key.keyTag, keyTag(key.dnskeyRdata));
    assert.deepEqual([key.createdAt, key.stateSince, key.dsSeenAt], [NOW, NOW, null]);
    assert.equal(key.dnskeyRdata[2], 3);
  }
});

test('a tag that is taken is not used again', () => {
  const all = new Set(Array.from({ length: 65_536 }, (_, tag) => tag));
  const free = keyTag(generateKey('zsk', 'active', NOW, new Set()).dnskeyRdata);
  // Half of all tags: the loop ends soon, and never on one of them.
  const taken = new Set([...all].filter((tag) => tag % 2 === free % 2));
  for (let i = 0; i < 20; i++) assert.ok(!taken.has(generateKey('zsk', 'active', NOW, taken).keyTag));
});

test('plain data give the same keys after JSON and after a copy to a thread', () => {
  const set = generateKeySet(ZONE, NOW);
  const data = keySetData(set);
  for (const copy of [structuredClone(data), JSON.parse(JSON.stringify(data))]) {
    const read = readKeySet(copy);
    assert.deepEqual(keySetData(read), data);
    assert.deepEqual(
      read.keys.map(({ dnskeyRdata: rdata }) => rdata),
      set.keys.map(({ dnskeyRdata: rdata }) => rdata),
    );
  }
});

test('incomplete data are refused, and the message quotes none of them', () => {
  const data = keySetData(generateKeySet(ZONE, NOW));
  const [ksk, zsk] = data.keys;
  const otherCurve = generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey;
  const pem = otherCurve.export({ type: 'pkcs8', format: 'pem' }).toString();
  const withKeys = (...keys: unknown[]): unknown => ({ ...data, keys });
  const second = keySetData(generateKeySet(ZONE, NOW)).keys[1]!;
  const cases: [string, unknown, string][] = [
    ['nothing', null, 'the keys of a zone are not readable'],
    ['a list', [], 'the keys of a zone are not readable'],
    ['no zone', { ...data, zone: '..' }, 'the keys of a zone are not readable'],
    ['version', { ...data, version: 2 }, 'the keys of uqrp.net are of an unknown version'],
    ['no keys', { ...data, keys: {} }, DAMAGE],
    ['role', withKeys({ ...ksk, role: 'csk' }, zsk), 'key 1 of uqrp.net is not readable'],
    ['state', withKeys(ksk, { ...zsk, state: 'withdrawn' }), 'key 2 of uqrp.net is not readable'],
    ['time', withKeys(ksk, { ...zsk, createdAt: 1.5 }), 'key 2 of uqrp.net is not readable'],
    [
      'tag',
      withKeys(ksk, { ...zsk, keyTag: (zsk!.keyTag + 1) % 65_536 }),
      'key 2 of uqrp.net is not readable',
    ],
    ['PEM', withKeys({ ...ksk, privateKey: 'secret' }, zsk), 'key 1 of uqrp.net is not readable'],
    ['curve', withKeys({ ...ksk, privateKey: pem }, zsk), 'key 1 of uqrp.net is not readable'],
    ['swapped', withKeys({ ...ksk, privateKey: zsk!.privateKey }, zsk), 'key 1 of uqrp.net is not readable'],
  ];
  const notWhole: [string, unknown][] = [
    ['one role', withKeys(ksk)],
    ['twice', withKeys(ksk, zsk, zsk)],
    ['two active', withKeys(ksk, zsk, second)],
    ['none active', withKeys(ksk, { ...zsk, state: 'published' })],
  ];
  const whole = 'the keys of uqrp.net do not form a set: one of each role is active';
  for (const [name, value, message] of [...cases, ...notWhole.map(([n, v]) => [n, v, whole] as const)]) {
    assert.throws(() => readKeySet(value), { name: 'KeyError', message }, name);
  }
  assert.doesNotThrow(() => readKeySet(withKeys(ksk, zsk, { ...second, state: 'retired' })));
});

test('DS lines name all keys that the parent should know', () => {
  const set = generateKeySet(ZONE, NOW);
  const [ksk, zsk] = set.keys;
  const other = generateKey('ksk', 'published', NOW, new Set());
  const both = dsLines({ zone: ZONE, keys: [ksk!, zsk!, other] });
  assert.equal(both.length, 2);
  assert.match(both[0]!, new RegExp(`^uqrp\\.net\\. IN DS ${ksk!.keyTag} 13 2 [0-9A-F]{64}$`));
  const digest = fromHex(both[1]!.split(' ').at(-1)!);
  assert.deepEqual(digest, dsRdata(apexOf(ZONE), other).slice(4));
  const one = dsLines({
    zone: ZONE,
    keys: [{ ...ksk!, state: 'withdrawn' }, { ...other, state: 'active' }, zsk!],
  });
  assert.deepEqual(one, [both[1]]);
});

test(
  'keys are made once, in a file of mode 0600',
  inTempDir((dir) => {
    const first = loadKeys(dir, ZONE, () => NOW);
    const again = loadKeys(dir, ZONE, () => NOW + 1);
    assert.deepEqual(keySetData(again), keySetData(first));
    const path = keyFile(dir, ZONE);
    assert.equal(path, join(dir, 'keys', 'uqrp.net.json'));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(dirname(path)), ['uqrp.net.json']);
    assert.notDeepEqual(loadKeys(dir, 'uqrp.org', () => NOW).keys, first.keys);
  }),
);

test(
  'processes that start together have the same keys',
  inTempDir(async (dir) => {
    const module = new URL('./key-files.ts', import.meta.url).href;
    const script = `import { loadKeys } from ${JSON.stringify(module)};
      const { keys } = loadKeys(${JSON.stringify(dir)}, '${ZONE}', () => 1);
      process.stdout.write(keys.map((key) => key.keyTag).join());`;
    const run = promisify(execFile);
    const started = Array.from({ length: 4 }, () =>
      run(process.execPath, ['--input-type=module', '-e', script]),
    );
    const tags = new Set((await Promise.all(started)).map(({ stdout }) => stdout));
    assert.equal(tags.size, 1);
    assert.deepEqual(readdirSync(join(dir, 'keys')), ['uqrp.net.json']);
  }),
);

test(
  'a change replaces the whole file; without a change the file stays',
  inTempDir((dir) => {
    const before = loadKeys(dir, ZONE, () => NOW);
    const inode = statSync(keyFile(dir, ZONE)).ino;
    assert.deepEqual(updateKeys(dir, ZONE, Date.now, (keys) => ({ keys, said: 1 })).said, 1);
    assert.equal(statSync(keyFile(dir, ZONE)).ino, inode);
    const added = generateKey('zsk', 'published', NOW, new Set());
    updateKeys(dir, ZONE, Date.now, (keys) => ({ keys: { ...keys, keys: [...keys.keys, added] } }));
    const after = loadKeys(dir, ZONE, () => NOW);
    assert.deepEqual(
      after.keys.map((key) => key.keyTag),
      [...before.keys, added].map((key) => key.keyTag),
    );
    assert.equal(statSync(keyFile(dir, ZONE)).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(dir, 'keys')), ['uqrp.net.json']);
  }),
);

test(
  'changes exclude each other; the lock of a dead process is taken over; a failed change leaves none',
  inTempDir((dir) => {
    loadKeys(dir, ZONE, () => NOW);
    const lock = `${keyFile(dir, ZONE)}.lock`;
    const same = (): unknown =>
      updateKeys(
        dir,
        ZONE,
        () => NOW,
        (keys) => ({ keys }),
      );
    const lockedAt = (ms: number): void => {
      writeFileSync(lock, '');
      utimesSync(lock, ms / 1000, ms / 1000);
    };
    lockedAt(NOW - 59_999);
    assert.throws(same, { name: 'KeyError', message: 'another process is changing the keys of uqrp.net' });
    lockedAt(NOW - 60_000);
    same();
    const failing = (): unknown =>
      updateKeys(
        dir,
        ZONE,
        () => NOW,
        () => {
          throw new RangeError('no');
        },
      );
    assert.throws(failing, RangeError);
    same();
  }),
);

test(
  'a damaged file is an error that quotes nothing, and the file stays',
  inTempDir((dir) => {
    mkdirSync(join(dir, 'keys'));
    const path = keyFile(dir, ZONE);
    const other: KeySetData = keySetData(generateKeySet('uqrp.org', NOW));
    const cases: [string, string][] = [
      ['', 'the key file of uqrp.net is not JSON'],
      ['{"zone":"uqrp.net","version":1,"keys":[', 'the key file of uqrp.net is not JSON'],
      ['{"zone":"uqrp.net","version":1}', DAMAGE],
      [JSON.stringify(other), 'the key file of uqrp.net holds the keys of another zone'],
    ];
    for (const [text, message] of cases) {
      writeFileSync(path, text);
      const told = `${path}: ${message}. Put it back from a backup: with other keys a delegated zone fails.`;
      assert.throws(() => loadKeys(dir, ZONE, () => NOW), new KeyError(told));
      assert.equal(readFileSync(path, 'utf8'), text);
    }
  }),
);

test('a zone that is not a host name is refused as a file name', () => {
  for (const zone of ['', '..', '../x', 'a/b', 'A.net', 'a..net', 'a.net.']) {
    assert.throws(() => keyFile('/nowhere', zone), RangeError, zone);
  }
});
