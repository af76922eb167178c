import { loadKeys, updateKeys } from '../../src/dns/dnssec/key-files.ts';
import { apexOf, generateKey, type KeyRole, type KeySet } from '../../src/dns/dnssec/key-set.ts';
import { advance, type Confirmation, ROLLOVER_TIMES, type StepName } from '../../src/dns/dnssec/rollover.ts';
import { makeSigner, type SigningMode } from '../../src/dns/dnssec/signer.ts';
import { ask } from '../../src/process/dns-client.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { u16At } from '../../src/protocol/dns/octets.ts';
import { eventually } from '../e2e/client.ts';
import type { Uqrp } from '../support/server-process.ts';

/**
 * DS rrsets that a resolver may have cached: the parent's, or one that the parent replaced less than a TTL ago.
 * `old` and `new` are of the KSK before and after its rollover.
 */
export type ParentDs = 'old' | 'both' | 'new';

export interface RolloverStep {
  readonly role: KeyRole;
  readonly step: StepName;
  readonly confirm: Confirmation | null;
  /** After the step. */
  readonly ds: readonly ParentDs[];
}

/** A ZSK rollover and a KSK rollover, whole. `old` before the first step. */
export const STEPS: readonly RolloverStep[] = [
  { role: 'zsk', step: 'publish', confirm: null, ds: ['old'] },
  { role: 'zsk', step: 'switch', confirm: null, ds: ['old'] },
  { role: 'zsk', step: 'remove', confirm: null, ds: ['old'] },
  { role: 'ksk', step: 'publish', confirm: null, ds: ['old', 'both'] },
  { role: 'ksk', step: 'ds-added', confirm: 'ds-added', ds: ['old', 'both'] },
  { role: 'ksk', step: 'switch', confirm: null, ds: ['both'] },
  { role: 'ksk', step: 'withdraw', confirm: null, ds: ['both', 'new'] },
  { role: 'ksk', step: 'remove', confirm: 'ds-removed', ds: ['both', 'new'] },
];

/** The keys of one zone of a running server, moved on as if weeks passed between the steps. */
export class Rollover {
  readonly #server: Uqrp;
  readonly #zone: string;
  readonly #mode: SigningMode;
  #now = Date.now();

  constructor(server: Uqrp, zone: string, mode: SigningMode) {
    this.#server = server;
    this.#zone = zone;
    this.#mode = mode;
  }

  /** Takes the step at the first moment that it is permitted, and resolves when the server answers with the keys. */
  async take({ role, step, confirm }: RolloverStep): Promise<void> {
    const { dataDir } = this.#server;
    const times = ROLLOVER_TIMES;
    const move = () =>
      updateKeys(dataDir, this.#zone, Date.now, (keys) => {
        const now = this.#now;
        const generate = (of: KeyRole, taken: ReadonlySet<number>) =>
          generateKey(of, 'published', now, taken);
        return advance(keys, role, { now, times, confirmed: confirm, generate });
      });
    let { keys, outcome } = move();
    if (outcome.kind === 'wait') {
      this.#now = outcome.next.at;
      ({ keys, outcome } = move());
    }
    if (outcome.kind !== 'advanced' || outcome.step !== step) {
      throw new Error(`the ${role} rollover did not come to ${step}`);
    }
    await eventually(() => this.#serves(keys));
  }

  /** DS lines of the KSKs that are wanted at the parent. */
  wanted(): readonly string[] {
    return this.#server.cli(['dnssec', 'ds', '--zone', this.#zone]).trim().split('\n');
  }

  async #serves(keys: KeySet): Promise<boolean> {
    const signer = makeSigner({ keys, mode: this.#mode, clock: Date.now });
    const active = keys.keys.filter(({ state }) => state === 'active');
    const signing = active.filter(({ role }) => role === 'zsk' || this.#mode === 'full');
    const [dnskey, cds, soa] = await Promise.all(
      [RRTYPE.DNSKEY, RRTYPE.CDS, RRTYPE.SOA].map((type) => this.#ask(type)),
    );
    return (
      sameRdata(dnskey!.rdata, signer.dnskey.rdata) &&
      sameRdata(cds!.rdata, signer.cds.rdata) &&
      sameTags(
        soa!.signers,
        signing.map(({ keyTag }) => keyTag),
      )
    );
  }

  async #ask(type: number): Promise<{ rdata: Uint8Array[]; signers: number[] }> {
    const { answer } = await ask(apexOf(this.#zone), type, {
      server: { host: '127.0.0.1', port: this.#server.ports.dns, ca: null },
      transport: 'udp',
      deadlineMs: 5000,
      dnssecOk: true,
    });
    return {
      rdata: answer.filter((rr) => rr.type === type).map((rr) => rr.rdata),
      // The key tag is after type, algorithm, labels, TTL and the two times (RFC 4034 §3.1).
      signers: answer.filter((rr) => rr.type === RRTYPE.RRSIG).map((rr) => u16At(rr.rdata, 16)),
    };
  }
}

/** The tags of the keys in the file of a zone. */
export function keyTags(server: Uqrp, zone: string): readonly number[] {
  return loadKeys(server.dataDir, zone, Date.now).keys.map(({ keyTag }) => keyTag);
}

function sameTags(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((tag) => other.includes(tag));
}

function sameRdata(one: readonly Uint8Array[], other: readonly Uint8Array[]): boolean {
  const texts = (rdata: readonly Uint8Array[]) =>
    rdata.map((octets) => Buffer.from(octets).toString('hex')).sort();
  return texts(one).join() === texts(other).join();
}
