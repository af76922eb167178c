/** `uqrp witness`: a witness of transparency logs, which needs no server. Its folder is UQRP_DATA_DIR. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { removeDrafts } from '../../base/drafts.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { systemFiles } from '../../base/files.ts';
import { closeHttp } from '../../base/lifecycle/http.ts';
import type { Clock } from '../../base/time.ts';
import { prepareDataDir, requireDataDir } from '../../ops/config/data-dir.ts';
import { COSIGNER_KEY, isKeyName, printVerifierKey } from '../../protocol/transparency/note.ts';
import { verifierKeyOf } from '../../protocol/transparency/signatures.ts';
import { makeWitnessDatabase, openWitnessDatabase, type WitnessDatabase } from '../../witness/database.ts';
import { createWitnessServer } from '../../witness/server.ts';
import { trustLog } from '../../witness/witness.ts';
import { inUrl } from '../address.ts';
import { commandConfig } from '../context.ts';
import { escapeControls, print } from '../output.ts';
import type { Signals } from '../signals.ts';

const FILE = 'witness.db';
/** Milliseconds that requests under way may take when the witness stops. */
const GRACE_MS = 2000;

/** Makes key and database, and prints the verifier key. @throws InputError where there is a witness already */
export function witnessInit(name: string, json: boolean): void {
  if (!isKeyName(name))
    throw new UsageError('NAME is without white space and +, such as witness.example.org/w1');
  const { dataDir } = commandConfig();
  prepareDataDir(dataDir);
  const path = join(dataDir, FILE);
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    makeWitnessDatabase(path, name, privateKey);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new InputError(`there is a witness already in ${path}: nothing was changed`);
  }
  const vkey = printVerifierKey(verifierKeyOf(name, COSIGNER_KEY, privateKey));
  print(json ? JSON.stringify({ vkey }) : vkey);
}

/** Cosigns a log from now on. A witness that runs needs no restart. */
export function witnessTrust(vkey: string, json: boolean): void {
  const database = openDatabase();
  try {
    const fault = trustLog(database, vkey);
    if (fault !== null) throw new InputError(`${escapeControls(vkey)}: ${fault}`);
  } finally {
    database.close();
  }
  const origin = vkey.slice(0, vkey.indexOf('+'));
  print(json ? JSON.stringify({ origin }) : `cosigns ${escapeControls(origin)}`);
}

/** Runs until SIGTERM or SIGINT. */
export async function witnessServe(
  clock: Clock,
  { listen }: { readonly listen: string },
  json: boolean,
  signals: Signals,
): Promise<void> {
  const [, host = '', port = ''] = /^\[?([^\]]+)\]?:([0-9]{1,5})$/.exec(listen) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new UsageError('--listen takes HOST:PORT, for example 127.0.0.1:8080');
  const database = openDatabase();
  // There is no lock: what a command makes at this moment is younger than a minute.
  removeDrafts(commandConfig().dataDir, clock());
  const server = createWitnessServer({
    database,
    clock,
    onError: (error) => process.stderr.write(`nothing was cosigned: ${(error as Error).message}\n`),
  });
  try {
    server.listen(Number(port), host);
    await once(server, 'listening', { signal: signals.stop });
    const vkey = printVerifierKey(verifierKeyOf(database.name, COSIGNER_KEY, database.key));
    const url = `http://${inUrl(host)}:${(server.address() as AddressInfo).port}`;
    print(json ? JSON.stringify({ vkey, url }) : `${vkey}\nlistens on ${url}`);
    if (!signals.stop.aborted) await once(signals.stop, 'abort');
  } catch (error) {
    if (!signals.stop.aborted) throw error;
  } finally {
    await closeHttp({ server, close: () => closed(server), graceMs: GRACE_MS });
    database.close();
  }
}

function closed(server: ReturnType<typeof createWitnessServer>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function openDatabase(): WitnessDatabase {
  const { dataDir } = commandConfig();
  const path = join(dataDir, FILE);
  const isThere = systemFiles.facts(dataDir) !== null;
  if (isThere) requireDataDir(dataDir);
  const database = isThere ? openWitnessDatabase(path) : null;
  if (database !== null) return database;
  throw new InputError(
    `there is no witness in ${path}. Set UQRP_DATA_DIR to its folder. A new one is made by uqrp witness init NAME; one that lost this file has ended: never put an older copy back.`,
  );
}
