import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCopy, type ValuesCopy } from './values-copy.ts';

const SOURCE = { origin: 'https://uqrp.example.com', namespace: 'shop', resource: 'env', token: 't' };
const HERE = new URL('.', import.meta.url).href;
const envelope = (text: string): string =>
  `v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=${Buffer.from(text).toString('base64')}`;
const kept = (text: string) => [{ key: 'a.env.shop.v1', envelope: envelope(text) }];

describe('the copy of values', () => {
  let home: string;
  let told: string[];
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'uqrp-copy-'));
    told = [];
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const open = (change: Partial<typeof SOURCE> = {}, now = 5000): ValuesCopy =>
    openCopy(
      { ...SOURCE, ...change },
      { XDG_STATE_HOME: home },
      () => now,
      (reason) => void told.push(reason),
    );
  const textIn = async (copy = open()): Promise<string | null> => {
    const known = await copy.load();
    return known === null ? null : (known.records[0]?.data.toString() ?? '');
  };
  const files = (): string[] => readdirSync(join(home, 'uqrp'));

  it('has the values and their time, in a folder and a file for this user alone', async () => {
    assert.equal(await open().load(), null);
    const copy = open();
    copy.save(kept('grüße'));
    await copy.flush();
    const known = await open({}, 9000).load();
    assert.deepEqual(known, {
      records: [{ key: 'a.env.shop.v1', data: Buffer.from('grüße') }],
      saved: 5000,
    });
    assert.equal(statSync(join(home, 'uqrp')).mode & 0o777, 0o700);
    chmodSync(join(home, 'uqrp'), 0o755);
    const next = open();
    next.save(kept('x'));
    await next.flush();
    assert.equal(statSync(join(home, 'uqrp')).mode & 0o777, 0o700);
    const [name = ''] = files();
    assert.match(name, /^[0-9a-f]{32}\.lkg$/);
    chmodSync(join(home, 'uqrp', name), 0o644);
    await assert.rejects(open().load(), /chmod 600/);
  });

  it('is another one for another server, namespace, resource or token', async () => {
    const others = [{}, { origin: 'x' }, { namespace: 'x' }, { resource: 'x' }, { token: 'x' }];
    for (const [n, change] of others.entries()) {
      const copy = open(change);
      copy.save(kept(String(n)));
      await copy.flush();
    }
    for (const [n, change] of others.entries()) assert.equal(await textIn(open(change)), String(n));
    await open({ token: 'x' }).remove();
    await open({ token: 'x' }).remove();
    assert.equal(await textIn(open({ token: 'x' })), null);
    assert.equal(files().length, others.length - 1);
  });

  it('is written at once, then once in 5 s; what waits is written at the end, or goes with the copy', async () => {
    const copy = open();
    copy.save(kept('first'));
    await copy.flush();
    for (const text of ['second', 'third']) copy.save(kept(text));
    await sleep(50);
    assert.equal(await textIn(), 'first');
    await copy.flush();
    assert.equal(await textIn(), 'third');
    copy.confirm(kept('third'));
    copy.save(kept('fourth'));
    await copy.remove();
    await copy.flush();
    assert.equal(await textIn(), null);
  });

  it('that cannot be written or removed is told, and stops nothing (a revoked key ended uqrp run, and the program ran on alone)', async () => {
    writeFileSync(join(home, 'uqrp'), '');
    const copy = open();
    copy.save(kept('x'));
    await copy.flush();
    await copy.remove();
    const [written, removed, ...more] = told;
    assert.match(written ?? '', /^the values are not kept: /);
    assert.match(removed ?? '', /^the copy of the values is not removed: ENOTDIR/);
    assert.deepEqual(more, []);
    rmSync(join(home, 'uqrp'));
    mkdirSync(join(home, 'uqrp'));
    copy.save(kept('y'));
    await copy.flush();
    assert.equal(await textIn(), 'y');
  });

  const writer = (text: string): ChildProcess =>
    spawn(
      process.execPath,
      [
        '--input-type=module-typescript',
        '-e',
        `const { openCopy } = await import(${JSON.stringify(`${HERE}values-copy.ts`)});
        const kept = Array.from({ length: 200 }, (_, n) => ({ key: n + '.env.shop.v1', envelope: ${JSON.stringify(envelope(text.repeat(400)))} }));
        for (;;) {
          const copy = openCopy(${JSON.stringify(SOURCE)}, { XDG_STATE_HOME: ${JSON.stringify(home)} }, () => 5000, () => process.exit(9));
          copy.save(kept);
          await copy.flush();
        }`,
      ],
      { stdio: 'inherit' },
    );

  it('of two programs at once, killed at any moment, is always whole: that of the one or of the other', async () => {
    const first = open();
    first.save(kept('a'));
    await first.flush();
    const seen = new Set<string>();
    for (let round = 0; round < 8; round++) {
      const before = statSync(
        join(home, 'uqrp', files().find((name) => name.endsWith('.lkg')) ?? ''),
      ).mtimeMs;
      const children = [writer('b'), writer('c')];
      const ends = children.map((child) => once(child, 'exit'));
      while (
        statSync(join(home, 'uqrp', files().find((name) => name.endsWith('.lkg')) ?? '')).mtimeMs === before
      )
        await sleep(5);
      await sleep(Math.random() * 200);
      for (const child of children) child.kill('SIGKILL');
      for (const end of ends) assert.deepEqual(await end, [null, 'SIGKILL']);
      const known = await open().load();
      const texts = new Set(known?.records.map(({ data }) => data.toString()));
      assert.deepEqual([known?.records.length, texts.size], [200, 1]);
      const [text = ''] = texts;
      assert.match(text, /^(?:b{400}|c{400})$/);
      seen.add(text[0] ?? '');
    }
    assert.ok(seen.size > 0);
  });
});
