import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DatasetWorld, type PublishedVersion, REGISTRY_ENV } from '../support/cli/dataset-world.ts';
import { start } from '../support/process.ts';
import { type Rng, seededRng } from '../support/protocol/dns/fuzz.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
/** Questions about items after each manifest, and of the comparison at the end. */
const PROBES = 3;
const COMPARED = 500;
const POLL_MS = 10;
/** At most so long after the command ends the server answers from the version, milliseconds. */
const SEEN_WITHIN_MS = 20_000;

export interface DatasetKillReport {
  readonly kills: number;
  /** Imports that had stored everything before their SIGKILL came. */
  readonly late: number;
  /** Imports that went on with a version whose import had been killed. */
  readonly resumed: number;
  readonly questions: number;
}

/**
 * Kills imports with SIGKILL at random moments. While they run, every answer over DNS must be that of the version that was imported
 * last. Then killed versions are imported again, and all of it is compared.
 */
export async function killImports(kills: number, seed: number, items: number): Promise<DatasetKillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-dataset-kill-'));
  const server = await startUqrp(REGISTRY_ENV);
  try {
    const run = new Run(server, new DatasetWorld(server.dataDir, folder, items), seededRng(seed), items);
    return await run.all(kills);
  } finally {
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Run {
  readonly #server: Uqrp;
  readonly #world: DatasetWorld;
  readonly #rng: Rng;
  readonly #items: number;
  /** The version that is served, by its number. */
  #served: PublishedVersion | null = null;
  readonly #killed: PublishedVersion[] = [];
  #minor = 0;
  #questions = 0;
  #late = 0;
  #resumed = 0;

  constructor(server: Uqrp, world: DatasetWorld, rng: Rng, items: number) {
    this.#server = server;
    this.#world = world;
    this.#rng = rng;
    this.#items = items;
  }

  async all(kills: number): Promise<DatasetKillReport> {
    const began = performance.now();
    await this.#import(this.#next());
    const duration = performance.now() - began;
    for (let done = 0; done < kills; ) if (await this.#killOne(duration)) done++;
    // The highest killed version last, so that each of them becomes the latest.
    for (const version of [...this.#killed.slice(0, 1), ...this.#killed.slice(-2), this.#next()]) {
      await this.#import(version);
    }
    await this.#compareAll();
    return { kills, late: this.#late, resumed: this.#resumed, questions: this.#questions };
  }

  #next(): PublishedVersion {
    return this.#world.publish(`1.${this.#minor++}.0`);
  }

  /** Whether the process was killed, and had not ended before. */
  async #killOne(duration: number): Promise<boolean> {
    const isAgain = this.#killed.length > 0 && this.#rng(4) === 0;
    const version = isAgain ? this.#killed[this.#rng(this.#killed.length)]! : this.#next();
    if (isAgain) this.#resumed++;
    const child = this.#start(version);
    const gone = once(child, 'exit');
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#rng(Math.ceil(duration)));
    let isOver = false;
    const ended = gone.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await this.#probe(version);
      await sleep(POLL_MS);
    }
    clearTimeout(timer);
    await ended;
    const isKilled = child.signalCode === 'SIGKILL';
    if (!isKilled) assert.equal(child.exitCode, 0, 'an import that nobody killed failed');
    const isStored = this.#isStored(version);
    if (!isKilled || isStored) {
      assert.ok(isStored, 'an import ended and is not stored');
      this.#late++;
      await this.#isServed(version);
    } else {
      if (!isAgain) this.#killed.push(version);
      await this.#probe(version);
    }
    return isKilled;
  }

  async #import(version: PublishedVersion): Promise<void> {
    const child = this.#start(version);
    let errors = '';
    child.stderr!.on('data', (text: Buffer) => {
      errors += text.toString();
    });
    const [code] = await once(child, 'exit');
    assert.equal(code, 0, errors);
    await this.#isServed(version);
  }

  /** Whether the last unit of its import was committed: a SIGKILL may come between this and the end of the process. */
  #isStored({ version }: PublishedVersion): boolean {
    const file = new DatabaseSync(join(this.#server.dataDir, 'uqrp.sqlite'), {
      readOnly: true,
      timeout: 10_000,
    });
    try {
      const row = file.prepare('SELECT state FROM dataset_versions WHERE version = ?').get(version);
      return row?.state === 'served';
    } finally {
      file.close();
    }
  }

  #start({ signed, items }: PublishedVersion) {
    return start(process.execPath, [CLI, 'dataset', 'import', signed, '--items', items], {
      UQRP_DATA_DIR: this.#server.dataDir,
    });
  }

  /** Waits until the server has followed the log to this version. */
  async #isServed(version: PublishedVersion): Promise<void> {
    if (this.#served !== null && minorOf(this.#served) > minorOf(version)) return;
    for (const end = performance.now() + SEEN_WITHIN_MS; this.#served !== version; await sleep(POLL_MS)) {
      assert.ok(performance.now() < end, `${version.version} is not served`);
      await this.#probe(version);
    }
  }

  /** Asks for the manifest and some items: all are of the served version, or from one moment on of the new one. */
  async #probe(next: PublishedVersion): Promise<void> {
    const manifest = await this.#world.manifest(this.#server);
    this.#questions += 1 + PROBES;
    if (manifest?.version === next.version) this.#served = next;
    const served = this.#served;
    assert.deepEqual(manifest, served && { version: served.version, sha256: served.sha256 });
    for (let i = 0; i < PROBES; i++) {
      const version = await this.#world.versionOfItem(this.#server, this.#rng(this.#items));
      if (version === next.version) this.#served = next;
      assert.equal(version, this.#served?.version ?? null, 'an item of another version');
    }
  }

  async #compareAll(): Promise<void> {
    const served = this.#served!;
    for (let i = 0; i < COMPARED; i++) {
      const item = Math.floor((i * this.#items) / COMPARED);
      assert.equal(await this.#world.versionOfItem(this.#server, item), served.version);
    }
    const exported = this.#server.cli(['dataset', 'export', this.#world.slug]);
    assert.equal(createHash('sha256').update(exported).digest('hex'), served.sha256);
  }
}

function minorOf({ version }: PublishedVersion): number {
  return Number(version.split('.')[1]);
}
