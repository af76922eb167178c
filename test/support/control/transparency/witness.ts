/** A witness in memory, which a signer asks as it asks one over HTTP. Tests put faults in its answers. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { OutboundClient } from '../../../../src/outbound/outbound-client.ts';
import type { OutboundRequest, OutboundResult } from '../../../../src/outbound/request.ts';
import { decodeBase64 } from '../../../../src/protocol/encodings.ts';
import { parseCheckpoint } from '../../../../src/protocol/transparency/checkpoint.ts';
import {
  COSIGNER_KEY,
  printVerifierKey,
  type VerifierKey,
} from '../../../../src/protocol/transparency/note.ts';
import type { TrustPolicy } from '../../../../src/protocol/transparency/policy.ts';
import {
  cosignNote,
  readPolicy,
  verifierKeyOf,
  verifyNoteSignature,
} from '../../../../src/protocol/transparency/signatures.ts';
import { EMPTY_ROOT, sameOctets, verifyConsistency } from '../../../../src/protocol/transparency/tree.ts';

export interface Asked {
  readonly old: number;
  readonly size: number;
  readonly proof: number;
}

export class MemoryWitness {
  readonly name: string;
  readonly url: string;
  readonly asked: Asked[] = [];
  /** The log that it knows; null: none. */
  log: VerifierKey | null;
  size = 0;
  root: Uint8Array = EMPTY_ROOT;
  /** Every root that it has cosigned, by size: two of one size are two histories. */
  readonly cosigned = new Map<number, Uint8Array>();
  /** Unix second. */
  time = 1_800_000_000;
  /** In place of its next answers. Null: as it is. */
  fault: ((request: OutboundRequest) => OutboundResult | null) | null = null;
  /** Before each answer. */
  onAsked: (asked: Asked) => void | Promise<void> = () => {};
  private readonly key: KeyObject;

  constructor(
    name: string,
    log: VerifierKey | null = null,
    key: KeyObject = generateKeyPairSync('ed25519').privateKey,
  ) {
    this.name = name;
    this.url = `https://${name}.example`;
    this.log = log;
    this.key = key;
  }

  /** Line of a policy. */
  get line(): string {
    const key = verifierKeyOf(`${this.name}.example/w`, COSIGNER_KEY, this.key);
    return `witness ${this.name} ${printVerifierKey(key)} ${this.url}`;
  }

  async answer(request: OutboundRequest): Promise<OutboundResult> {
    const text = Buffer.from(request.body ?? []).toString('utf8');
    const end = text.indexOf('\n\n');
    const [first = '', ...lines] = text.slice(0, end).split('\n');
    const old = Number(/^old (\d+)$/.exec(first)?.[1] ?? Number.NaN);
    const checkpoint = parseCheckpoint(text.slice(end + 2));
    if (checkpoint === null) return response(400, '');
    const asked = { old, size: checkpoint.size, proof: lines.length };
    this.asked.push(asked);
    await this.onAsked(asked);
    const fault = this.fault?.(request) ?? null;
    if (fault !== null) return fault;
    const { log } = this;
    if (log === null || log.name !== checkpoint.origin) return response(404, '');
    const { note, size, root } = checkpoint;
    if (!note.signatures.some((line) => verifyNoteSignature(note.text, log, line) === null))
      return response(403, '');
    if (old > size) return response(400, '');
    if (old !== this.size) return response(409, `${this.size}\n`);
    if (old === size && !sameOctets(root, this.root)) return response(409, `${this.size}\n`);
    const proof = lines.map((line) => decodeBase64(line)!);
    if (!verifyConsistency(old, this.root, size, root, proof)) return response(422, '');
    this.size = size;
    this.root = root;
    const known = this.cosigned.get(size);
    if (known !== undefined && !sameOctets(known, root)) throw new Error(`two histories of size ${size}`);
    this.cosigned.set(size, root);
    return response(200, `${cosignNote(note.text, `${this.name}.example/w`, this.key, this.time).line}\n`);
  }
}

/** The policy that trusts these witnesses. @param quorum how many; without it more than half */
export function policyOf(
  witnesses: readonly MemoryWitness[],
  quorum = Math.floor(witnesses.length / 2) + 1,
): TrustPolicy {
  const lines = witnesses.map(({ line }) => line);
  const names = witnesses.map(({ name }) => name).join(' ');
  const text = [...lines, `group most ${quorum} ${names}`, 'quorum most', ''].join('\n');
  const read = readPolicy(text);
  assert.ok(read.ok, JSON.stringify(read));
  return read.policy;
}

/** Sends to the witness of the host. */
export function sendTo(witnesses: readonly MemoryWitness[]): OutboundClient {
  return async (request) => {
    const witness = witnesses.find(({ url }) => url === request.url.origin);
    if (witness === undefined || request.url.pathname !== '/add-checkpoint')
      return { kind: 'failed', fault: 'dns_failure' };
    return witness.answer(request);
  };
}

export function response(status: number, body: string): OutboundResult {
  return { kind: 'response', status, headers: {}, body: Buffer.from(body) };
}
