/** A process that appends entries and signs, over and over, until it is killed: `test/faults/transparency-kill.ts` starts several over one database. */
import { createPrivateKey } from 'node:crypto';
import { realRandom } from '../../../../src/base/chance.ts';
import { appendLogEntries, keyEntry } from '../../../../src/control/transparency/append.ts';
import { createLogSigner } from '../../../../src/control/transparency/signer.ts';
import { readPolicy } from '../../../../src/protocol/transparency/signatures.ts';
import { openStore } from '../../../../src/store/open.ts';

export interface SignerProcessOptions {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly origin: string;
  readonly privateKey: string;
  readonly policy: string;
  /** Answers for all witnesses: `POST <url>/<host>/add-checkpoint`. */
  readonly witnesses: string;
  readonly seed: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as SignerProcessOptions;
const read = readPolicy(options.policy);
if (!read.ok) throw new Error('the policy has faults');
const store = await openStore({ ...options, clock: Date.now });
const key = { origin: options.origin, privateKey: createPrivateKey(options.privateKey) };
const signer = createLogSigner({
  store,
  clock: Date.now,
  policy: read.policy,
  findKey: async () => key,
  random: realRandom,
  async send({ url, body }) {
    try {
      const answer = await fetch(`${options.witnesses}/${url.host}/add-checkpoint`, {
        method: 'POST',
        body: Buffer.from(body ?? []),
      });
      return {
        kind: 'response',
        status: answer.status,
        headers: {},
        body: Buffer.from(await answer.arrayBuffer()),
      };
    } catch {
      return { kind: 'failed', fault: 'connection_failed' };
    }
  },
});
process.stdout.write('ready\n');
for (let since = 1; ; since++) {
  const public_key = Buffer.from(realRandom(32)).toString('base64');
  const row = { kid: `${options.seed}-${since}`, public_key, since, until: null, is_own: 0 };
  await store.write(async (tx) => {
    await appendLogEntries(tx, [keyEntry(row)]);
  });
  // The turn would let one process sign alone. No promise depends on it, so here there is none.
  await store.write(async (tx) => {
    await tx.execute('update log_head set holder = null', []);
  });
  // Two signers fail on the row of a size, and pass again.
  await signer.pass().catch(() => {});
}
