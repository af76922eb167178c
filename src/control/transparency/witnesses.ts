/** Checkpoints are submitted to the witnesses of the policy (C2SP tlog-witness, `add-checkpoint`), which cosign them. */
import { LIMITS } from '../../base/limits.ts';
import type { OutboundClient } from '../../outbound/outbound-client.ts';
import type { OutboundResult } from '../../outbound/request.ts';
import { encodeBase64 } from '../../protocol/encodings.ts';
import { parseDecimal, treeHeadText } from '../../protocol/transparency/checkpoint.ts';
import { type NoteSignature, parseSignatureLines } from '../../protocol/transparency/note.ts';
import type { PolicyWitness, TrustPolicy } from '../../protocol/transparency/policy.ts';
import { verifyNoteSignature } from '../../protocol/transparency/signatures.ts';
import type { LogCheckpoint } from '../../store/transparency.ts';

/**
 * What a witness said of a checkpoint. `ahead`: it holds a larger size of this log. `other_root`: it holds another tree of this size. `less`: it was not brought on to this one. `refused`: it
 * does not know the log, or refuses it. `strange`: no answer of the protocol. `away`: no answer at all.
 */
export type WitnessState = 'cosigned' | 'ahead' | 'less' | 'other_root' | 'refused' | 'strange' | 'away';

export interface WitnessAnswer {
  readonly witness: PolicyWitness;
  readonly state: WitnessState;
  /** Of `cosigned`. */
  readonly cosignature: NoteSignature | null;
  /** The size that it holds, where it says so; of `cosigned` ours. */
  readonly size: number | null;
}

export type LogCheckpointNote = Pick<LogCheckpoint, 'size' | 'root' | 'note'>;

export interface Submission {
  readonly origin: string;
  /** Signed by the log. */
  readonly checkpoint: LogCheckpointNote;
  /** What the witnesses are expected to hold. */
  readonly old: number;
  /** Proves that the tree of the checkpoint continues that of `old`; null: a witness that holds less is not brought on. */
  readonly prove: ((old: number) => Promise<readonly Uint8Array[]>) | null;
}

type Reply =
  | { readonly kind: 'size'; readonly size: number }
  | { readonly kind: 'answer'; readonly state: WitnessState; readonly cosignature: NoteSignature | null };

/** Submits to all witnesses at once. Never rejects for what a witness does. */
export function submitToWitnesses(
  send: OutboundClient,
  policy: Pick<TrustPolicy, 'witnesses'>,
  submission: Submission,
  signal?: AbortSignal,
): Promise<readonly WitnessAnswer[]> {
  return Promise.all(policy.witnesses.map((witness) => submit(send, witness, submission, signal)));
}

async function submit(
  send: OutboundClient,
  witness: PolicyWitness,
  submission: Submission,
  signal: AbortSignal | undefined,
): Promise<WitnessAnswer> {
  const { checkpoint } = submission;
  let reply = await ask(send, witness, submission, submission.old, signal);
  // It lacks a checkpoint that we signed: once more, with a proof from what it holds.
  const isLess = reply.kind === 'size' && reply.size < checkpoint.size && reply.size !== submission.old;
  if (reply.kind === 'size' && isLess && submission.prove !== null)
    reply = await ask(send, witness, submission, reply.size, signal);
  if (reply.kind === 'answer') {
    const size = reply.state === 'cosigned' ? checkpoint.size : null;
    return { witness, state: reply.state, cosignature: reply.cosignature, size };
  }
  const { size } = reply;
  const less = isLess && submission.prove === null ? 'less' : 'strange';
  const state = size > checkpoint.size ? 'ahead' : size === checkpoint.size ? 'other_root' : less;
  return { witness, state, cosignature: null, size };
}

async function ask(
  send: OutboundClient,
  witness: PolicyWitness,
  { origin, checkpoint, prove }: Submission,
  old: number,
  signal: AbortSignal | undefined,
): Promise<Reply> {
  const proof = (await prove?.(old)) ?? [];
  const lines = [`old ${old}`, ...proof.map(encodeBase64)];
  const body = Buffer.from(`${lines.join('\n')}\n\n${checkpoint.note}`);
  const result = await send(
    {
      method: 'POST',
      url: new URL(`${(witness.url ?? '').replace(/\/$/, '')}/add-checkpoint`),
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body,
      maxBytes: LIMITS.logWitnessAnswer,
    },
    signal,
  );
  return replyOf(result, witness, treeHeadText({ origin, size: checkpoint.size, root: checkpoint.root }));
}

/** @param text of the note, which a cosignature must be over */
function replyOf(result: OutboundResult, { key }: PolicyWitness, text: string): Reply {
  const state = (one: WitnessState): Reply => ({ kind: 'answer', state: one, cosignature: null });
  if (result.kind === 'failed') return state(result.fault === 'too_large' ? 'strange' : 'away');
  const { status, body } = result;
  if (status === 200) {
    const lines = parseSignatureLines(body.toString('utf8')) ?? [];
    // Lines of unknown keys are passed over, as the protocol demands.
    const cosignature = lines.find((line) => verifyNoteSignature(text, key, line) != null);
    return cosignature ? { kind: 'answer', state: 'cosigned', cosignature } : state('strange');
  }
  if (status === 409) {
    const [, decimal = ''] = /^([0-9]+)\n?$/.exec(body.toString('latin1')) ?? [];
    const size = parseDecimal(decimal);
    // Where it names none it says that the roots of our own size differ.
    return size === null ? state(body.length === 0 ? 'other_root' : 'strange') : { kind: 'size', size };
  }
  if (status === 422) return state('other_root');
  // Witnesses differ in which of the two they give.
  if (status === 403 || status === 404) return state('refused');
  return state(status >= 500 ? 'away' : 'strange');
}

export function mayBeBehind(answers: readonly WitnessAnswer[]): boolean {
  return answers.some(({ state }) => state === 'ahead');
}

/** The names of witnesses, in the policy, that cosigned. */
export function cosignersOf(answers: readonly WitnessAnswer[]): ReadonlySet<string> {
  return new Set(answers.filter(({ state }) => state === 'cosigned').map(({ witness }) => witness.name));
}
