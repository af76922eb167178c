import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LastKnownGoodError } from '../dns/errors.ts';
import { readKnownGood, removeDrafts, removeKnownGood, writeKnownGood } from './file.ts';
import { KNOWN_GOOD_MAX, openKnownGood, sealKnownGood } from './format.ts';
import { KeptAnswers } from './kept-answers.ts';

const HERE = new URL('.', import.meta.url).href;
const START = 1_767_225_600_000;

let folder: string;
let path: string;
let count = 0;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'uqrp-known-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** A path in a folder of its own. */
function newPath(): string {
  count += 1;
  mkdirSync(join(folder, String(count)));
  path = join(folder, String(count), 'uqrp.lkg');
  return path;
}

const open = (now = START, credential = 't'): Promise<KeptAnswers> =>
  KeptAnswers.open({ path, credential, now: () => now, spacing: 0 });
const inFile = async (credential = 't') =>
  (await openKnownGood(credential, new Uint8Array(readFileSync(path))))?.entries ?? null;

const keysInFile = async (): Promise<readonly string[]> =>
  [...((await inFile())?.keys() ?? [])].toSorted((a, b) => a.localeCompare(b));

/** Runs a module of this folder until it is killed or ends. */
function startModule(code: string): ChildProcess {
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', code], { stdio: 'inherit' });
}

describe('a last known good file on the disk', () => {
  it('is for its user alone; one that others may read, or another file, is neither used nor replaced', async () => {
    newPath();
    assert.equal(await readKnownGood(path), null);
    const octets = await sealKnownGood('t', { saved: START, entries: new Map() });
    const mask = process.umask(0);
    await writeKnownGood(path, octets);
    process.umask(mask);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(new Uint8Array((await readKnownGood(path)) ?? []), octets);
    for (const mode of [0o640, 0o604, 0o610, 0o660, 0o666]) {
      chmodSync(path, mode);
      await assert.rejects(open(), { name: 'LastKnownGoodError', message: /chmod 600/ });
    }
    chmodSync(path, 0o600);
    writeFileSync(path, 'a key of somebody');
    await assert.rejects(open(), /is no last known good file/);
    writeFileSync(path, Buffer.concat([octets, Buffer.alloc(KNOWN_GOOD_MAX - octets.length)]));
    assert.equal((await readKnownGood(path))?.length, KNOWN_GOOD_MAX);
    writeFileSync(path, Buffer.concat([octets, Buffer.alloc(KNOWN_GOOD_MAX - octets.length + 1)]));
    await assert.rejects(readKnownGood(path), LastKnownGoodError);
    writeFileSync(path, '');
    assert.equal(await readKnownGood(path), null);
    await removeKnownGood(path);
    await removeKnownGood(path);
  });

  it('is on the disk before it has its name, and its name is before the write ends', async () => {
    newPath();
    await writeKnownGood(path, await sealKnownGood('t', { saved: START, entries: new Map() }));
    const file = await files.open(path, 'r');
    const handle = Object.getPrototypeOf(file) as typeof file;
    await file.close();
    // Called with the file as `this` below.
    // oxlint-disable-next-line typescript/unbound-method
    const { sync } = handle;
    const { rename } = files;
    const steps: string[] = [];
    mock.method(handle, 'sync', async function (this: typeof file) {
      await sleep(5);
      await sync.call(this);
      steps.push('synced');
    });
    mock.method(files, 'rename', async (from: string, to: string) => {
      steps.push('renamed');
      await rename(from, to);
    });
    try {
      await writeKnownGood(path, await sealKnownGood('t', { saved: START + 1, entries: new Map() }));
    } finally {
      mock.restoreAll();
    }
    assert.deepEqual(steps, ['synced', 'renamed', 'synced']);
  });

  it('must be a file in a folder that is there', async () => {
    newPath();
    mkdirSync(path);
    await assert.rejects(open(), /is no file/);
    path = join(folder, 'none', 'uqrp.lkg');
    await assert.rejects(open(), /the folder of .* cannot be read \(ENOENT\)/);
    newPath();
    execFileSync('mkfifo', ['-m', '600', path]);
    await assert.rejects(open(), /is no file/);
  });

  it('loses the drafts of killed writers, and nothing else', async () => {
    newPath();
    const draft = `${path}.12345678-1234-4123-8123-123456789abc`;
    const others = [`${path}.bak`, `${path}.12345678`, `${draft}x`, join(folder, String(count), 'x')];
    for (const name of [draft, ...others]) writeFileSync(name, '');
    for (const name of [draft, ...others]) utimesSync(name, 1000, 1000);
    await removeDrafts(path, 1_059_000);
    assert.ok(existsSync(draft));
    await removeDrafts(path, 1_061_000);
    assert.ok(!existsSync(draft));
    for (const name of others) assert.ok(existsSync(name), name);
  });

  it('is the old one or the new one after a kill at any moment, and can always be read', async () => {
    newPath();
    await writeKnownGood(path, await sealKnownGood('t', { saved: 0, entries: new Map() }));
    const writer = `
      const { sealKnownGood } = await import(${JSON.stringify(`${HERE}format.ts`)});
      const { writeKnownGood } = await import(${JSON.stringify(`${HERE}file.ts`)});
      const text = 'x'.repeat(200_000);
      for (let n = 1; ; n++) {
        const entries = new Map([['first.a.v1', { text: n + text, at: n }], ['last.a.v1', { text: text + n, at: n }]]);
        await writeKnownGood(${JSON.stringify(path)}, await sealKnownGood('t', { saved: n, entries }));
      }`;
    const seen = new Set<number>();
    for (let round = 0; round < 12; round++) {
      const child = startModule(writer);
      // After its first write, or a later one: on a busy machine the time alone would always give the first.
      for (let write = 0; write <= round % 3; write++) {
        const mtime = statSync(path).mtimeMs;
        while (statSync(path).mtimeMs === mtime) await sleep(1);
      }
      await sleep(Math.random() * 30);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const known = await openKnownGood('t', (await readKnownGood(path)) ?? new Uint8Array(0));
      assert.ok(known !== null, 'it opens');
      const { saved, entries } = known;
      assert.ok(entries.get('first.a.v1')?.text.startsWith(`${saved}x`));
      assert.ok(entries.get('last.a.v1')?.text.endsWith(`x${saved}`));
      seen.add(saved);
    }
    assert.ok(seen.size > 1, 'the kills came at different moments');
    await removeDrafts(path, Date.now() + 61_000);
    assert.deepEqual(readdirSync(join(folder, String(count))), ['uqrp.lkg']);
  });
});

describe('kept answers', () => {
  it('are there after a restart, with their age, until they are removed', async () => {
    newPath();
    const first = await open();
    assert.equal(first.get('a.b.v1'), null);
    first.keep('a.b.v1', 'one');
    first.keep('c.b.v1', 'two');
    assert.deepEqual(first.get('a.b.v1'), { text: 'one', age: 0 });
    await first.flush();
    const second = await open(START + 3_600_999);
    assert.deepEqual(second.get('a.b.v1'), { text: 'one', age: 3600 });
    second.remove('a.b.v1');
    second.remove('none.b.v1');
    assert.equal(second.get('a.b.v1'), null);
    await second.flush();
    assert.deepEqual([...((await inFile()) ?? [])], [['c.b.v1', { text: 'two', at: START }]]);
  });

  it('of another token do not count, and the next write replaces them', async () => {
    newPath();
    const old = await open(START, 'old');
    old.keep('a.b.v1', 'old');
    await old.flush();
    const next = await open(START, 'new');
    assert.equal(next.get('a.b.v1'), null);
    next.keep('c.b.v1', 'new');
    await next.flush();
    assert.equal(await inFile('old'), null);
    assert.deepEqual([...((await inFile('new')) ?? new Map()).keys()], ['c.b.v1']);
  });

  it('are written at once, then at most once in the time between writes, the last change always', async () => {
    newPath();
    let now = START;
    let writes = 0;
    const { rename } = files;
    mock.method(files, 'rename', async (from: string, to: string) => {
      await rename(from, to);
      writes++;
    });
    mock.timers.enable({ apis: ['setTimeout'] });
    const kept = await KeptAnswers.open({ path, credential: 't', now: () => now, spacing: 400 });
    const pass = (ms: number): void => {
      now += ms;
      mock.timers.tick(ms);
    };
    const inFileNow = async () => (existsSync(path) ? (await inFile())?.get('a.b.v1')?.text : null);
    const written = async (text: string): Promise<void> => {
      for (let looks = 0; (await inFileNow()) !== text; looks++) {
        assert.ok(looks < 20_000, `'${text}' is never written`);
        await new Promise(setImmediate);
      }
      // To its end.
      await kept.flush();
    };
    try {
      kept.keep('a.b.v1', 'first');
      pass(0);
      await written('first');
      for (let n = 1; n < 400; n++) {
        kept.keep('a.b.v1', String(n));
        pass(1);
      }
      assert.equal(await inFileNow(), 'first');
      kept.keep('a.b.v1', 'last');
      pass(1);
      await written('last');
      assert.equal(writes, 2);
    } finally {
      mock.timers.reset();
      mock.restoreAll();
    }
  });

  it('that have not changed are written again only when their time is a minute old', async () => {
    newPath();
    let now = START;
    const kept = await KeptAnswers.open({ path, credential: 't', now: () => now, spacing: 0 });
    const keepAt = async (seconds: number): Promise<number | undefined> => {
      now = START + seconds * 1000;
      kept.keep('a.b.v1', 'same');
      await kept.flush();
      return (await inFile())?.get('a.b.v1')?.at;
    };
    assert.equal(await keepAt(0), START);
    assert.equal(await keepAt(59), START);
    assert.equal(kept.get('a.b.v1')?.age, 0);
    assert.equal(await keepAt(60), START + 60_000);
  });

  it('of two processes in one file add up: neither takes away what the other one wrote', async () => {
    newPath();
    const [one, two] = [await open(START), await open(START + 1)];
    one.keep('one.b.v1', '1');
    await one.flush();
    two.keep('two.b.v1', '2');
    await two.flush();
    assert.deepEqual(await keysInFile(), ['one.b.v1', 'two.b.v1']);
    // What the one removes, the other one does not bring back when it writes something else.
    two.remove('two.b.v1');
    await two.flush();
    one.keep('three.b.v1', '3');
    await one.flush();
    two.remove('one.b.v1');
    await two.flush();
    one.keep('four.b.v1', '4');
    await one.flush();
    assert.deepEqual(await keysInFile(), ['four.b.v1', 'three.b.v1']);
    assert.equal(one.get('one.b.v1'), null);
  });

  it('the later one of two answers stays, unless its time is still to come', async () => {
    newPath();
    const [late, early] = [await open(START + 10_000), await open(START + 10_001)];
    late.keep('a.b.v1', 'late');
    await late.flush();
    const before = await KeptAnswers.open({ path, credential: 't', now: () => START + 20_000, spacing: 0 });
    assert.equal(before.get('a.b.v1')?.age, 10);
    early.keep('a.b.v1', 'later');
    await early.flush();
    assert.equal((await inFile())?.get('a.b.v1')?.text, 'later');
    // A clock that was wrong and was set back.
    const corrected = await open(START);
    assert.equal(corrected.get('a.b.v1')?.age, 0);
    corrected.keep('a.b.v1', 'corrected');
    await corrected.flush();
    assert.equal((await inFile())?.get('a.b.v1')?.text, 'corrected');
  });

  it('many writers at once leave a whole file and no draft', async () => {
    newPath();
    const all = await Promise.all(Array.from({ length: 6 }, () => open()));
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        all.map(async (kept, n) => {
          kept.keep(`k${n}.b.v1`, `${round}`);
          await kept.flush();
        }),
      );
      assert.ok((await inFile()) !== null);
    }
    assert.deepEqual(readdirSync(join(folder, String(count))), ['uqrp.lkg']);
  });

  it('a write that fails loses nothing, and the next one has it', async () => {
    newPath();
    const kept = await open();
    await kept.flush();
    mkdirSync(path);
    kept.keep('a.b.v1', 'one');
    await assert.rejects(kept.flush(), LastKnownGoodError);
    assert.equal(kept.get('a.b.v1')?.text, 'one');
    rmSync(path, { recursive: true });
    kept.keep('c.b.v1', 'two');
    await kept.flush();
    assert.deepEqual(await keysInFile(), ['a.b.v1', 'c.b.v1']);
  });

  it('are written before a program ends that has nothing else to do, and do not hold it up when they cannot be', async () => {
    for (const isWritable of [true, false]) {
      newPath();
      const code = `
        import { mkdirSync } from 'node:fs';
        const { KeptAnswers } = await import(${JSON.stringify(`${HERE}kept-answers.ts`)});
        const kept = await KeptAnswers.open({ path: ${JSON.stringify(path)}, credential: 't' });
        kept.keep('a.b.v1', 'one');
        await kept.flush();
        ${isWritable ? '' : `const fs = await import('node:fs'); fs.rmSync(${JSON.stringify(path)}); mkdirSync(${JSON.stringify(path)});`}
        kept.keep('c.b.v1', 'two');`;
      const [status] = await once(startModule(code), 'exit');
      assert.equal(status, 0);
      if (isWritable) assert.deepEqual(await keysInFile(), ['a.b.v1', 'c.b.v1']);
    }
  });
});
