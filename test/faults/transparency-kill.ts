/** Two processes append to one transparency log and sign it, with SIGKILL at random moments. There must be no gap and no fork. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { initLog, verifierKeyOfLog } from '../../src/control/transparency/init.ts';
import { checkEntries, rootAt } from '../../src/control/transparency/tree.ts';
import { printPolicy } from '../../src/protocol/transparency/policy.ts';
import { openStore } from '../../src/store/open.ts';
import { lastPublishedCheckpoint, lastSignedCheckpoint } from '../../src/store/transparency.ts';
import { assertWhole, memoryLogKeys, ORIGIN } from '../support/control/transparency/log-world.ts';
import type { SignerProcessOptions } from '../support/control/transparency/signer-process.ts';
import { MemoryWitness, policyOf } from '../support/control/transparency/witness.ts';
import { seededRng } from '../support/protocol/dns/fuzz.ts';
import { findRows } from '../support/store/rows.ts';

const PROGRAM = fileURLToPath(new URL('../support/control/transparency/signer-process.ts', import.meta.url));
const WITNESSES = 3;

export interface SignerKillReport {
  readonly kills: number;
  readonly entries: number;
  readonly signed: number;
  readonly published: number;
}

/** @param databaseUrl null: SQLite */
export async function killSigners(
  kills: number,
  seed: number,
  databaseUrl: string | null,
): Promise<SignerKillReport> {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-signer-kill-'));
  const rng = seededRng(seed);
  const store = await openStore({ dataDir, databaseUrl, clock: Date.now });
  const keys = memoryLogKeys();
  await initLog({ store, clock: Date.now }, keys, ORIGIN);
  const { privateKey } = keys.key!;
  const witnesses = Array.from(
    { length: WITNESSES },
    (_, i) => new MemoryWitness(`w${i + 1}`, verifierKeyOfLog(keys.key!)),
  );
  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const [, host = ''] = request.url?.split('/') ?? [];
      const witness = witnesses.find(({ url }) => new URL(url).host === host)!;
      const asked = {
        method: 'POST',
        url: new URL(witness.url),
        headers: {},
        body: Buffer.concat(parts),
        maxBytes: 1,
      } as const;
      witness.answer(asked).then(
        (answer) => answer.kind === 'response' && response.writeHead(answer.status).end(answer.body),
        (error: unknown) => {
          // A witness that is asked to cosign two histories.
          faults.push(error);
          response.writeHead(500).end();
        },
      );
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const options: Omit<SignerProcessOptions, 'seed'> = {
    dataDir,
    databaseUrl,
    origin: ORIGIN,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    policy: printPolicy(policyOf(witnesses)),
    witnesses: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
  let started = 0;
  const children: ChildProcess[] = [];
  const begin = async (at: number): Promise<void> => {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ ...options, seed: started++ })], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children[at] = child;
    await once(child.stdout!, 'data');
  };
  const kill = async (at: number): Promise<void> => {
    const child = children[at]!;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  try {
    await Promise.all([begin(0), begin(1)]);
    for (let done = 0; done < kills; done++) {
      await sleep(rng(400));
      const at = rng(2);
      await kill(at);
      if (done < kills - 1) await begin(at);
    }
    for (const [at, { exitCode, signalCode }] of children.entries())
      if (exitCode === null && signalCode === null) await kill(at);
    assert.deepEqual(faults, []);
    await assertWhole(store);
    const checkpoints = await findRows(store.read, 'log_checkpoints', {
      columns: ['size', 'root'],
      order: 'size',
    });
    for (const { size, root } of checkpoints)
      assert.deepEqual(Buffer.from(root), Buffer.from(await rootAt(store.read, size)), `size ${size}`);
    for (const { cosigned } of witnesses) {
      for (const [size, root] of cosigned) {
        const own = checkpoints.find((one) => one.size === size);
        if (size > 0)
          assert.deepEqual(
            Buffer.from(root),
            Buffer.from(own!.root),
            `a witness cosigned another size ${size}`,
          );
      }
    }
    const signed = (await lastSignedCheckpoint(store.read))!.size;
    await checkEntries(store.read, signed);
    const entries = (await findRows(store.read, 'log_head', { columns: ['size'] }))[0]!.size;
    return { kills, entries, signed, published: (await lastPublishedCheckpoint(store.read))?.size ?? 0 };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    server.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
