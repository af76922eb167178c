/** What a node may answer by a view: the rules of docs/PROTOCOL.md, written once more and shared with nothing of the product. */
import { createHash } from 'node:crypto';
import { datasetText, isOfLog, type LogQuestion, logText } from './dataset-answers.ts';
import type { AskedName, DecodedAnswer } from './observation.ts';
import type { ReadableView } from './shared-view.ts';

/** What the answer must be. */
export interface Verdict {
  readonly rcode: 'NOERROR' | 'REFUSED' | 'FORMERR' | 'SERVFAIL';
  readonly envelope: string | null;
  /** Seconds; the answer's is at most this. */
  readonly ttlMax: number;
  /** Whose usage it counts as; null: nobody's. */
  readonly metered: string | null;
  /** By the node's clock: then the answer ends without any change. */
  readonly until: number;
}

const FOREVER = Number.POSITIVE_INFINITY;

const REFUSED: Verdict = { rcode: 'REFUSED', envelope: null, ttlMax: 0, metered: null, until: FOREVER };
const WITHHELD: Verdict = { rcode: 'SERVFAIL', envelope: null, ttlMax: 0, metered: null, until: FOREVER };
const EMPTY: Verdict = { rcode: 'NOERROR', envelope: null, ttlMax: 0, metered: null, until: FOREVER };

/** Seconds, of answers of the registry. */
const DATASET_TTL = 3600;
const LOG_TTL = { proof: 3600, checkpoint: 60 } as const;

/**
 * @param now by the node's clock
 * @param isSigned whether the zone is
 */
export function judge(view: ReadableView, asked: AskedName, now: number, isSigned: boolean): Verdict {
  const { key, namespace, token, type, dataset, dnssecOk } = asked;
  if (dataset !== null) {
    if (type !== 'TXT') return EMPTY;
    if (isOfLog(dataset)) return judgeOfLog(view, dataset);
    return { ...EMPTY, envelope: datasetText(view.datasets, dataset, now / 1000), ttlMax: DATASET_TTL };
  }
  const owner = view.namespace(namespace);
  const isSuspended = owner === null || owner.suspended;
  const isOpen = !isSuspended && owner.publicRead;
  const digest = token === null ? '' : createHash('sha256').update(token).digest('hex');
  const shown = view.token(digest);
  const isPrivate =
    !isOpen && !isSuspended && shown !== null && shown.namespace === namespace && shown.expiresAt > now;
  const mayRead = isOpen || isPrivate;
  const record = mayRead ? view.record(key) : null;
  // Proofs of what is not there, and signatures over them, tell whether there is a record.
  const isProven = isSigned && (type === 'NSEC' || dnssecOk);
  if (record === 'withheld' && (type === 'TXT' || isProven)) return WITHHELD;
  // Of another type nothing is ever refused, so that the code tells nothing.
  if (type !== 'TXT' || record === 'withheld') return EMPTY;
  if (!mayRead) return REFUSED;
  if (record === null || (record.expiresAt !== null && record.expiresAt <= now)) return EMPTY;
  const { data, plain, format, ttlSeconds, expiresAt } = record;
  const encoded = Buffer.from(data).toString(plain ? 'latin1' : 'base64');
  const envelope = `v=svc1;s=ok;t=data;e=${plain ? 'plain' : 'b64'};f=${format};ttl=${ttlSeconds};d=${encoded}`;
  const end = expiresAt ?? FOREVER;
  const ttlMax = isOpen ? Math.min(view.maxTtl(namespace), (end - now) / 1000) : 0;
  const until = isPrivate ? Math.min(end, shown.expiresAt) : end;
  return { rcode: 'NOERROR', envelope, ttlMax, metered: isPrivate ? owner.id : null, until };
}

function judgeOfLog({ datasets }: ReadableView, question: LogQuestion): Verdict {
  const envelope = logText(datasets, question);
  // Before the log has a head the name means what it means without a log.
  const isName = question.operation === 'checkpoint' || datasets.checkpoint() !== null;
  if (envelope === null && !isName) return { ...EMPTY, rcode: 'FORMERR' };
  return { ...EMPTY, envelope, ttlMax: LOG_TTL[question.operation] };
}

export function agrees(answer: DecodedAnswer, verdict: Verdict): boolean {
  return (
    answer.rcode === verdict.rcode &&
    answer.envelope === verdict.envelope &&
    (answer.envelope === null || answer.ttl! <= verdict.ttlMax)
  );
}
