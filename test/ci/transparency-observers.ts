/**
 * Observers of a transparency log, as processes: real witnesses that cosign, and `uqrp log audit`. The operator is one that lies. Shows that
 * two observers catch a split, that one changed leaf of 10,000 is caught, and that each silent act raises its own alarm. Exit code 1 else.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestTxt } from '../../src/protocol/datasets/manifest.ts';
import { KEY, SILENT_ACTS } from '../support/cli/silent-acts.ts';
import { WatchedOperator } from '../support/cli/watched-operator.ts';
import { CLI, type Ended, ended, runCli, startCommand } from '../support/command.ts';
import type { SmallLog } from '../support/protocol/transparency/small-log.ts';
import { startWitness, type WitnessProcess } from '../support/witness-process.ts';

const ENTRIES = 10_000;
/** Acts whose observers run side by side: most of their time they wait for a second look. */
const AT_ONCE = 3;
const folder = mkdtempSync(join(tmpdir(), 'uqrp-observers-'));
const began = performance.now();

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** An operator whose checkpoints are cosigned by two real witnesses, where they agree. */
class CosignedOperator extends WatchedOperator {
  readonly #witnesses: readonly WitnessProcess[];
  #note = '';
  #size = 0;

  constructor(witnesses: readonly WitnessProcess[]) {
    super();
    this.#witnesses = witnesses;
  }

  override policy(url: string): string {
    const lines = this.#witnesses.map(({ vkey }, i) => `witness w${i} ${vkey}\n`).join('');
    return `log ${this.log.vkey} ${url}\n${lines}group both all w0 w1\nquorum both\n`;
  }

  override note(): string {
    return this.#note;
  }

  /** Asks both witnesses to cosign the log as it is, and shows what came of it. */
  async sign(log: SmallLog = this.log): Promise<readonly Answer[]> {
    const note = log.note();
    const answers = await Promise.all(
      this.#witnesses.map(async ({ url }) => {
        const answer = await fetch(`${url}/add-checkpoint`, {
          method: 'POST',
          body: log.request(this.#size, log.leaves.length, note),
        });
        return { status: answer.status, text: await answer.text() };
      }),
    );
    this.#note = note + answers.map(({ status, text }) => (status === 200 ? text : '')).join('');
    if (answers.every(({ status }) => status === 200)) this.#size = log.leaves.length;
    return answers;
  }
}

async function withOperator(name: string, run: (world: World) => Promise<void>): Promise<void> {
  const witnesses: WitnessProcess[] = [];
  const base = join(folder, name);
  try {
    for (const i of [0, 1]) {
      const env = { UQRP_DATA_DIR: join(base, `witness-${i}`) };
      const made = await runCli(['witness', 'init', `w.example/${name}-${i}`], env);
      assert.equal(made.code, 0, made.errors);
      const vkey = new WatchedOperator().log.vkey;
      assert.equal((await runCli(['witness', 'trust', vkey], env)).code, 0);
      witnesses.push(await startWitness(env));
    }
    const operator = new CosignedOperator(witnesses);
    const server = await operator.start();
    try {
      const policy = join(base, 'policy.txt');
      writeFileSync(policy, operator.policy(server.url));
      const audit = (observer: string, ...more: readonly string[]): Promise<Ended> =>
        auditor(policy, join(base, observer), server.dnsPort)(...more);
      await run({ operator, audit, base });
    } finally {
      server.close();
    }
  } finally {
    await Promise.all(witnesses.map((witness) => witness.stop()));
  }
}

interface World {
  readonly operator: CosignedOperator;
  readonly audit: (observer: string, ...more: readonly string[]) => Promise<Ended>;
  readonly base: string;
}

const statuses = (answers: readonly Answer[]): readonly number[] => answers.map(({ status }) => status);

/** A log with a key and two versions. */
function begin(operator: WatchedOperator): void {
  operator.addKey(KEY);
  operator.publish(operator.manifest('sample', '1.0.0', KEY));
  operator.publish(operator.manifest('sample', '1.1.0', KEY));
}

try {
  await withOperator('split', async ({ operator, audit, base }) => {
    begin(operator);
    for (const i of [2, 3, 4, 5]) operator.publish(operator.manifest('sample', `1.${i}.0`, KEY));
    assert.deepEqual(statuses(await operator.sign()), [200, 200]);
    const honest = await audit('first');
    assert.deepEqual([honest.code, honest.out.split('\n').length - 1], [0, 7], honest.out + honest.errors);
    const notes = { first: operator.note(), second: '' };
    writeFileSync(join(base, 'first.note'), notes.first);
    // The other reader gets eight entries, of which the last of the first seven is another.
    operator.unserve(operator.manifest('sample', '1.5.0', KEY));
    operator.log.leaves.length = 6;
    operator.publish(operator.manifest('sample', '1.5.0', KEY, 'other items'));
    operator.publish(operator.manifest('sample', '1.6.0', KEY));
    assert.deepEqual(statuses(await operator.sign()), [422, 422], 'no witness cosigns the second history');
    notes.second = operator.note();
    const second = await audit('second', '--compare', join(base, 'first.note'));
    assert.equal(second.code, 1);
    assert.match(second.out, /^alarm checkpoint_untrusted: cosigned by nobody: that is no quorum/m);
    assert.match(second.out, /^alarm two_histories: /m);
    const found = await audit('first');
    assert.equal(found.code, 1);
    assert.match(found.out, /^alarm two_histories: /m);
    const evidence = join(base, 'first', 'evidence');
    const [kept = ''] = readdirSync(evidence);
    const read = (file: string): string => readFileSync(join(evidence, kept, file), 'utf8');
    assert.deepEqual([read('held.checkpoint'), read('shown.checkpoint')], [notes.first, notes.second]);
  });
  say('two observers catch a split of sizes 7 and 8');

  await withOperator('past', async ({ operator, audit, base }) => {
    operator.hasListing = false;
    operator.addKey(KEY);
    const leaf = (i: number): string => manifestTxt(operator.manifest('many', `${i}.0.0`, KEY));
    for (let i = 1; i < ENTRIES; i++) operator.log.append(leaf(i));
    assert.deepEqual(statuses(await operator.sign()), [200, 200]);
    const honest = await audit('first', '--slug', 'sample');
    assert.equal(honest.code, 0, honest.out + honest.errors);
    operator.log.leaves[ENTRIES / 2] = Buffer.from(leaf(ENTRIES));
    operator.log.append(leaf(ENTRIES + 1));
    assert.deepEqual(statuses(await operator.sign()), [422, 422]);
    const found = await audit('first', '--slug', 'sample');
    assert.equal(found.code, 1);
    assert.match(
      found.out,
      /^alarm two_histories: the log signed size 10001, which does not continue size 10000 /,
    );
    assert.equal(readdirSync(join(base, 'first', 'evidence')).length, 1);
  });
  say(`one changed leaf of ${ENTRIES} is refused by witnesses and found by a monitor`);

  const silent = Object.entries(SILENT_ACTS).filter(([, [codes]]) =>
    codes.some((code) => /^(?:version_|signature_|key_|served_|logged_|older_)/.test(code)),
  );
  for (let at = 0; at < silent.length; at += AT_ONCE) {
    await Promise.all(
      silent.slice(at, at + AT_ONCE).map(([what, [codes, act]], i) => showAct(at + i, what, codes, act)),
    );
  }
  say(`${silent.length} silent acts raise their alarms within a round`);
} finally {
  // Commands beside a failed one may still write: the failure is what must be seen.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** A round in which all is well, the act, and a round that finds it. */
async function showAct(
  at: number,
  what: string,
  codes: readonly string[],
  act: (by: WatchedOperator) => void,
): Promise<void> {
  const operator = new WatchedOperator();
  begin(operator);
  const server = await operator.start();
  try {
    const policy = join(folder, `policy-${at}.txt`);
    writeFileSync(policy, operator.policy(server.url));
    const audit = auditor(policy, join(folder, `observer-${at}`), server.dnsPort);
    const honest = await audit();
    assert.equal(honest.code, 0, honest.out + honest.errors);
    act(operator);
    const { code, out } = await audit();
    assert.equal(code, 1, what);
    const found = [...out.matchAll(/^alarm ([a-z_]+): /gm)].map(([, name]) => name!);
    assert.deepEqual([...new Set(found)].toSorted(), codes, what);
  } finally {
    server.close();
  }
}

function auditor(
  policy: string,
  state: string,
  dnsPort: number,
): (...more: readonly string[]) => Promise<Ended> {
  const line = ['log', 'audit', '--policy', policy, '--state', state];
  // The first round over ten thousand manifests verifies as many signatures.
  return (...more) =>
    ended(
      startCommand(
        process.execPath,
        [CLI, ...line, '--server', '127.0.0.1', '--port', String(dnsPort), ...more],
        {},
      ),
    );
}

function say(what: string): void {
  process.stdout.write(`${what}, ${Math.round((performance.now() - began) / 1000)} s\n`);
}
