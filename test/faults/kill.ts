import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from '../../src/process/dns-client.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import { parseEnvelope } from '../../src/protocol/query/envelope.ts';
import { type Rng, seededRng } from '../support/protocol/dns/fuzz.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

const NAMESPACE = 'crash';
const WRITERS = 6;
const BULK = 20;
/** DNS queries at once. */
const AT_ONCE = 32;
/** Lifetime of records that expire during the run, seconds. */
const SHORT_LIFE = 1;

/** Values that a key may have: one after an answered write, more while an answer is outstanding. Null: no record. */
type Possible = ReadonlySet<string | null>;

export interface Ledger {
  readonly possible: Map<string, Possible>;
  /** Records that expire, with the time after which no answer may hold them. */
  readonly short: Map<string, number>;
  writes: number;
  /** Called after each acknowledged write. */
  afterWrite: () => void;
}

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  readonly checked: number;
}

/**
 * Kills the server with SIGKILL at random moments during writes, and starts it again on the same data. It checks that
 * no acknowledged write is lost, bulk writes are atomic, DNS agrees with REST, and expired records are gone.
 */
export async function killRepeatedly(
  kills: number,
  seed: number,
  afterKill: (done: number) => void = () => {},
): Promise<KillReport> {
  const rng = seededRng(seed);
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-kill-'));
  const ledger = newLedger();
  let checked = 0;
  try {
    let server = await startUqrp({ UQRP_WORKERS: '1' }, dir);
    let customer = await ledgerCustomer(server);
    for (let round = 0; round < kills; round++) {
      await writeUntilKilled(server, customer, ledger, rng, round);
      server = await startUqrp({ UQRP_WORKERS: '1' }, dir);
      customer = customer.at(`http://127.0.0.1:${server.ports.http}/api/v1`);
      checked += await compareWithLedger(server, customer, ledger);
      afterKill(round + 1);
    }
    await server.stop();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return { kills, acknowledged: ledger.writes, checked };
}

export function newLedger(): Ledger {
  return { possible: new Map(), short: new Map(), writes: 0, afterWrite: () => {} };
}

/** The customer whose records the ledger knows, on a new server. */
export async function ledgerCustomer(server: Uqrp): Promise<Account> {
  const customer = account(server, 'crash@example.net');
  await customer.call('POST', '/namespaces', { namespace: { name: NAMESPACE } });
  server.cli(['namespace', 'public-read', NAMESPACE, 'on']);
  return customer;
}

/** Writes from several writers until the server is gone. */
export async function writeToLedger(
  customer: Account,
  ledger: Ledger,
  rng: Rng,
  round: number,
): Promise<void> {
  const writers = Array.from({ length: WRITERS }, (_, w) =>
    writeOn(customer, ledger, seededRng(rng(2 ** 31)), w, round),
  );
  await Promise.all(writers);
}

async function writeUntilKilled(
  server: Uqrp,
  customer: Account,
  ledger: Ledger,
  rng: Rng,
  round: number,
): Promise<void> {
  const gone = once(server.child, 'exit');
  // From the first acknowledged write on, so that a busy machine has one before the kill.
  const delay = rng(300);
  let timer: NodeJS.Timeout | undefined;
  ledger.afterWrite = () => {
    timer ??= setTimeout(() => server.child.kill('SIGKILL'), delay);
  };
  await writeToLedger(customer, ledger, rng, round);
  await gone;
  clearTimeout(timer);
}

/** A writer with its own keys. It runs until the connection breaks. */
async function writeOn(
  customer: Account,
  ledger: Ledger,
  rng: Rng,
  writer: number,
  round: number,
): Promise<void> {
  for (let i = 0; ; i++) {
    const value = Buffer.from(`${round}-${writer}-${i}`).toString('base64');
    try {
      const kind = rng(4);
      if (kind === 0) await writeGroup(customer, ledger, writer, rng(5), value);
      else if (kind === 1)
        await writeShort(customer, ledger, `s${round}-${writer}-${i}.${NAMESPACE}.v1`, value);
      else
        await writeOne(customer, ledger, `k${writer}-${rng(40)}.${NAMESPACE}.v1`, kind === 2 ? value : null);
    } catch (error) {
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

/** A bulk request with one item: stores a record or deletes it. */
async function writeOne(customer: Account, ledger: Ledger, key: string, value: string | null): Promise<void> {
  const body = value === null ? { delete: [key] } : { records: [{ key, data: value }] };
  await settle(customer, ledger, [key], value, body);
}

async function writeGroup(
  customer: Account,
  ledger: Ledger,
  writer: number,
  group: number,
  value: string,
): Promise<void> {
  const keys = Array.from({ length: BULK }, (_, i) => `g${writer}-${group}-${i}.${NAMESPACE}.v1`);
  await settle(customer, ledger, keys, value, { records: keys.map((key) => ({ key, data: value })) });
}

async function writeShort(customer: Account, ledger: Ledger, key: string, value: string): Promise<void> {
  ledger.short.set(key, Date.now() + SHORT_LIFE * 1000);
  await customer.call('POST', '/records', { record: { key, data: value, expires_in: SHORT_LIFE } });
}

async function settle(
  customer: Account,
  ledger: Ledger,
  keys: readonly string[],
  value: string | null,
  body: object,
): Promise<void> {
  for (const key of keys) ledger.possible.set(key, new Set([...(ledger.possible.get(key) ?? [null]), value]));
  const { status } = await customer.call('POST', '/records/bulk', body);
  assert.equal(status, 200);
  ledger.writes++;
  ledger.afterWrite();
  for (const key of keys) ledger.possible.set(key, new Set([value]));
}

/** @returns names that were compared. @throws at the first that is lost or wrong */
export async function compareWithLedger(server: Uqrp, customer: Account, ledger: Ledger): Promise<number> {
  const { status, body } = await customer.call('GET', `/records?namespace=${NAMESPACE}`);
  assert.equal(status, 200);
  const stored = new Map((body as { key: string; data: string }[]).map(({ key, data }) => [key, data]));
  const now = Date.now();
  for (const [key, possible] of ledger.possible) {
    const value = stored.get(key) ?? null;
    assert.ok(possible.has(value), `${key} holds ${value}, which was not its last write`);
    ledger.possible.set(key, new Set([value]));
  }
  for (const group of groups(ledger)) {
    const values = new Set(group.map((key) => stored.get(key) ?? null));
    assert.equal(values.size, 1, 'half a bulk');
  }
  for (const [key, endsAt] of ledger.short) {
    assert.ok(endsAt > now - 1000 || !stored.has(key), `${key} is stored past its time`);
  }
  const keys = [...ledger.possible.keys(), ...[...ledger.short.keys()].slice(-20)];
  const check = async (key: string): Promise<void> => {
    const endsAt = ledger.short.get(key);
    const value = await dnsValue(server, key);
    if (endsAt === undefined) assert.equal(value, stored.get(key) ?? null, `${key}: DNS and REST differ`);
    else assert.ok(value === null || Date.now() < endsAt + 1500, `${key} answers past its time`);
  };
  for (let from = 0; from < keys.length; from += AT_ONCE) {
    await Promise.all(keys.slice(from, from + AT_ONCE).map(check));
  }
  return keys.length;
}

function groups(ledger: Ledger): string[][] {
  const byGroup = new Map<string, string[]>();
  for (const key of ledger.possible.keys()) {
    const group = /^(g\d+-\d+)-/.exec(key)?.[1];
    if (group !== undefined) byGroup.set(group, [...(byGroup.get(group) ?? []), key]);
  }
  return [...byGroup.values()];
}

async function dnsValue(server: Uqrp, key: string): Promise<string | null> {
  const reply = await ask(nameFromText(`get.${key}.uqrp.net`)!, RRTYPE.TXT, {
    server: { host: '127.0.0.1', port: server.ports.dns, ca: null },
    transport: 'udp',
    deadlineMs: 3000,
  });
  assert.equal(reply.rcode, 0);
  const rdata = reply.answer[0]?.rdata;
  if (rdata === undefined) return null;
  return parseEnvelope(Buffer.from(txtValue(rdata)!).toString('latin1'))?.fields.get('d') ?? null;
}
