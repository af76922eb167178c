/**
 * Trust policies (C2SP tlog-policy): which logs and witnesses a reader believes, and how many witnesses make a quorum. Browsers read it too:
 * `signatureChecks` says what must be verified, its caller verifies with Node or WebCrypto, and `judgeCheckpoint` decides.
 */
import type { Checkpoint } from './checkpoint.ts';
import {
  COSIGNER_KEY,
  LOG_KEY,
  NOTE_OCTETS,
  parseVerifierKey,
  printVerifierKey,
  type SignedOctets,
  signedOctets,
  type VerifierKey,
} from './note.ts';

export interface PolicyLog {
  /** Its name is the origin of the log. */
  readonly key: VerifierKey;
  readonly url: string | null;
}

export interface PolicyWitness extends PolicyLog {
  /** Means something in this policy alone. */
  readonly name: string;
}

export interface PolicyGroup {
  readonly name: string;
  /** Members that must have cosigned: 1 to their number. */
  readonly threshold: number;
  /** Witnesses and groups before it. */
  readonly members: readonly string[];
}

export interface TrustPolicy {
  readonly logs: readonly PolicyLog[];
  readonly witnesses: readonly PolicyWitness[];
  readonly groups: readonly PolicyGroup[];
  /** A witness or group. Null: no cosignature is needed. */
  readonly quorum: string | null;
}

export type PolicyRead =
  | { readonly ok: true; readonly policy: TrustPolicy }
  /** Each with the number of its line. */
  | { readonly ok: false; readonly faults: readonly string[] };

export interface Cosigner {
  /** As the policy names it. */
  readonly name: string;
  readonly key: VerifierKey;
  /** Unix second. Of several cosignatures the newest. */
  readonly time: number;
}

export type CheckpointFault =
  | 'checkpoint_malformed'
  | 'log_unknown'
  | 'log_signature_wrong'
  | 'cosignature_wrong'
  | 'no_quorum';

export type CheckpointJudgement =
  | {
      readonly valid: true;
      readonly checkpoint: Checkpoint;
      readonly log: PolicyLog;
      /** In the order of the policy. */
      readonly cosigners: readonly Cosigner[];
    }
  | {
      readonly valid: false;
      readonly code: CheckpointFault;
      readonly reason: string;
      /** Whose cosignatures hold; not empty only with `no_quorum`, where the log's signature holds too. */
      readonly cosigners: readonly Cosigner[];
    };

/** A signature line of a key that the policy knows. */
export interface SignatureCheck {
  readonly signer: PolicyLog | PolicyWitness;
  /** Null where the line cannot be a signature of the key. */
  readonly signed: SignedOctets | null;
}

/** Lines of each kind in a policy. Implementations should accept 32. */
export const POLICY_LINES = 100;

const NONE = 'none';
const CONTROL = /[^\t -~\u0080-\uffff]/;
const THRESHOLD = /^[1-9][0-9]{0,2}$/;

/** Reads octets as UTF-8. Others are opaque to the format, and are read as one character each. Key ids are not compared with their hash. */
export function parsePolicy(octets: Uint8Array | string): PolicyRead {
  if (octets.length > NOTE_OCTETS) return { ok: false, faults: [`it has more than ${NOTE_OCTETS} octets`] };
  const reader = policyReader();
  (typeof octets === 'string' ? octets : decode(octets)).split('\n').forEach(reader.line);
  return reader.end();
}

export function printPolicy({ logs, witnesses, groups, quorum }: TrustPolicy): string {
  const written = [
    ...logs.map(({ key, url }) => ['log', printVerifierKey(key), url]),
    ...witnesses.map(({ name, key, url }) => ['witness', name, printVerifierKey(key), url]),
    ...groups.map(({ name, threshold, members }) => ['group', name, String(threshold), ...members]),
    ['quorum', quorum ?? NONE],
  ];
  return written.map((items) => `${items.filter((item) => item !== null).join(' ')}\n`).join('');
}

/** @param cosigned names of witnesses in the policy */
export function isQuorum(policy: TrustPolicy, cosigned: ReadonlySet<string>): boolean {
  if (policy.quorum === null) return true;
  const present = new Set(cosigned);
  // Groups come after their members.
  for (const { name, threshold, members } of policy.groups) {
    if (members.filter((member) => present.has(member)).length >= threshold) present.add(name);
  }
  return present.has(policy.quorum);
}

/** Whether two quorums may have no witness in common: then two histories can each find one. */
export function hasDisjointQuorums({ groups, quorum }: TrustPolicy): boolean {
  if (quorum === null) return true;
  /** Groups of which two parts without a common witness are each enough. */
  const divisible = new Set<string>();
  for (const { name, threshold, members } of groups) {
    const twice = members.filter((member) => divisible.has(member)).length;
    if (2 * threshold <= members.length + twice) divisible.add(name);
  }
  return divisible.has(quorum);
}

/** The lines of a note whose key the policy knows. Each must verify. */
export function signatureChecks(
  { origin, note }: Checkpoint,
  policy: TrustPolicy,
): readonly SignatureCheck[] {
  const signers = [...policy.logs.filter(({ key }) => key.name === origin), ...policy.witnesses];
  return note.signatures.flatMap(({ name, keyId, octets }) => {
    const signer = signers.find(({ key }) => key.name === name && key.id === keyId);
    return signer ? [{ signer, signed: signedOctets(note.text, signer.key.type, octets) }] : [];
  });
}

/**
 * Whether the policy trusts a checkpoint. @param checkpoint null: what was read is none
 * @param checks those of `signatureChecks` @param verified those whose signature is one of the key over the message
 */
export function judgeCheckpoint(
  checkpoint: Checkpoint | null,
  policy: TrustPolicy,
  checks: readonly SignatureCheck[],
  verified: ReadonlySet<SignatureCheck>,
): CheckpointJudgement {
  if (!checkpoint) return refusal('checkpoint_malformed', 'it is not a signed checkpoint');
  const wrong = checks.find((check) => !verified.has(check))?.signer;
  if (wrong) {
    return isLog(wrong)
      ? refusal('log_signature_wrong', `the signature is not that of ${wrong.key.name}`)
      : refusal('cosignature_wrong', `the cosignature is not that of ${wrong.key.name}`);
  }
  const log = checks.map(({ signer }) => signer).find(isLog);
  if (!log)
    return refusal('log_unknown', `no log of the policy signed it: its origin is ${checkpoint.origin}`);
  const cosigners = policy.witnesses.flatMap((witness) => {
    const times = checks.flatMap(({ signer, signed }) => (signer === witness ? [signed?.time ?? 0] : []));
    return times.length === 0 ? [] : [{ name: witness.name, key: witness.key, time: Math.max(...times) }];
  });
  if (!isQuorum(policy, new Set(cosigners.map(({ name }) => name)))) {
    const names = cosigners.map(({ name }) => name).join(', ');
    return refusal('no_quorum', `cosigned by ${names || 'nobody'}: that is no quorum`, cosigners);
  }
  return { valid: true, checkpoint, log, cosigners };
}

function isLog(signer: PolicyLog | PolicyWitness): boolean {
  return !('name' in signer);
}

function refusal(
  code: CheckpointFault,
  reason: string,
  cosigners: readonly Cosigner[] = [],
): CheckpointJudgement {
  return { valid: false, code, reason, cosigners };
}

interface PolicyReader {
  readonly line: (text: string, at: number) => void;
  readonly end: () => PolicyRead;
}

function policyReader(): PolicyReader {
  const logs: PolicyLog[] = [];
  const witnesses: PolicyWitness[] = [];
  const groups: PolicyGroup[] = [];
  const names = new Set<string>();
  const members = new Set<string>();
  const faults: string[] = [];
  let quorum: string | null | undefined;

  const key = (text: string, type: number, others: readonly PolicyLog[]): VerifierKey | string => {
    const read = parseVerifierKey(text);
    if (!read) return `${text || 'the key'} is not a verifier key`;
    if (read.type !== type) return `${read.name} must have an Ed25519 key of type 0${type}`;
    const same = ({ key: { publicKey } }: PolicyLog): boolean =>
      publicKey.every((octet, at) => octet === read.publicKey[at]);
    return others.some(same) ? `the public key of ${read.name} is there already` : read;
  };
  const nameFault = (name: string): string | null => {
    if (name === '' || name === NONE) return 'a name other than none is required';
    return names.has(name) ? `${name} is there already` : null;
  };
  const unknown = (name: string): string | null =>
    names.has(name)
      ? null
      : `${name} is not defined before by a line witness NAME KEY or group NAME K MEMBERS`;

  const statements: Readonly<Record<string, (items: readonly string[]) => string | null>> = {
    log: ([vkey = '', url = null, ...more]) => {
      const read = key(vkey, LOG_KEY, logs);
      if (typeof read === 'string') return read;
      logs.push({ key: read, url });
      return tooMany(more, logs);
    },
    witness: ([name = '', vkey = '', url = null, ...more]) => {
      const fault = nameFault(name);
      if (fault !== null) return fault;
      const read = key(vkey, COSIGNER_KEY, witnesses);
      if (typeof read === 'string') return read;
      names.add(name);
      witnesses.push({ name, key: read, url });
      return tooMany(more, witnesses);
    },
    group: ([name = '', count = '', ...of]) => {
      const fault = nameFault(name) ?? of.map(unknown).find((text) => text !== null);
      if (fault) return fault;
      const threshold = thresholdOf(count, of.length);
      if (threshold < 1 || threshold > of.length) {
        return `${name} needs any, all, or a number of its ${of.length} members`;
      }
      for (const member of of) {
        if (members.has(member)) return `${member} is a member already`;
        members.add(member);
      }
      names.add(name);
      groups.push({ name, threshold, members: of });
      return tooMany([], groups);
    },
    quorum: ([name = '', ...more]) => {
      if (quorum !== undefined) return 'there is a quorum already';
      quorum = name === NONE ? null : name;
      return (quorum === null ? null : unknown(name)) ?? tooMany(more, []);
    },
  };

  return {
    line: (text, at) => {
      const [word = '', ...items] = text.split(/[ \t]+/).filter((item) => item !== '');
      const fault = controlFault(text) ?? (word === '' || word.startsWith('#') ? null : read(word, items));
      if (fault !== null) faults.push(`line ${at + 1}: ${fault}`);
    },
    end: () => {
      if (quorum === undefined) faults.push('there is no quorum line');
      if (faults.length > 0) return { ok: false, faults };
      return { ok: true, policy: { logs, witnesses, groups, quorum: quorum ?? null } };
    },
  };

  function read(word: string, items: readonly string[]): string | null {
    const statement = Object.hasOwn(statements, word) ? statements[word] : undefined;
    return statement ? statement(items) : `${word} is none of log, witness, group, quorum`;
  }
}

/** 0 for what is none. */
function thresholdOf(count: string, members: number): number {
  if (count === 'any') return 1;
  if (count === 'all') return members;
  return THRESHOLD.test(count) ? Number(count) : 0;
}

function controlFault(text: string): string | null {
  return CONTROL.test(text) ? 'it has a control character: lines end in a line feed alone' : null;
}

function tooMany(more: readonly string[], lines: readonly unknown[]): string | null {
  if (more.length > 0) return `${more[0]} is too much`;
  return lines.length > POLICY_LINES ? `there are more than ${POLICY_LINES} lines of this kind` : null;
}

function decode(octets: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    return Array.from(octets, (octet) => String.fromCharCode(octet)).join('');
  }
}
