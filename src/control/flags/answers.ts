import { createHash } from 'node:crypto';
import { type Context, evaluate, type Versions } from '../../../sdk/src/flag-rules.ts';
import { LIMITS } from '../../base/limits.ts';
import { isJsonObject } from '../../protocol/input/fields.ts';
import type { FlagDocument } from './documents.ts';

/** Codes of OFREP 0.3.0. */
export type FlagErrorCode =
  | 'PARSE_ERROR'
  | 'TARGETING_KEY_MISSING'
  | 'INVALID_CONTEXT'
  | 'GENERAL'
  | 'FLAG_NOT_FOUND';

/** The list of OFREP is closed. It has no name for the default variant of rules that did not match. */
const REASONS = {
  static: 'STATIC',
  default: 'UNKNOWN',
  match: 'TARGETING_MATCH',
  split: 'SPLIT',
} as const;

/** What a request is refused with. */
export class FlagRefusal extends Error {
  readonly status: number;
  readonly errorCode: FlagErrorCode | null;
  /** Seconds, with 429. */
  readonly retryAfter: number | null;

  constructor(
    status: number,
    details: string,
    {
      errorCode = null,
      retryAfter = null,
    }: { errorCode?: FlagErrorCode | null; retryAfter?: number | null } = {},
  ) {
    super(details);
    this.status = status;
    this.errorCode = errorCode;
    this.retryAfter = retryAfter;
  }
}

const invalidContext = (details: string): FlagRefusal =>
  new FlagRefusal(400, details, { errorCode: 'INVALID_CONTEXT' });

/** The context of the body of an evaluation; none is an empty one. @throws FlagRefusal, which repeats nothing of it */
export function readContext(body: unknown): Context {
  if (!isJsonObject(body))
    throw new FlagRefusal(400, 'the body is not a JSON object', { errorCode: 'GENERAL' });
  const context = body.context ?? (Object.hasOwn(body, 'context') ? body.context : {});
  if (!isJsonObject(context)) throw invalidContext('the context is not an object');
  checkTexts(context, 1);
  const { targetingKey } = context;
  if (targetingKey !== undefined && typeof targetingKey !== 'string')
    throw invalidContext('targetingKey is not a text');
  return context as Context;
}

function checkTexts(value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (Buffer.byteLength(value) > LIMITS.flagContextText) {
      throw invalidContext(`the context has a text of more than ${LIMITS.flagContextText} octets`);
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > LIMITS.flagContextDepth) {
    throw invalidContext(`the context has more than ${LIMITS.flagContextDepth} levels`);
  }
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) checkTexts(name, depth);
    checkTexts(member, depth + 1);
  }
}

/** One evaluation: its status where it is asked for alone, and the body. */
export interface Evaluation {
  readonly status: 200 | 400 | 404;
  readonly json: string;
}

/** @param key as the request has it @param versions for several flags in one context */
export function evaluation(
  key: string,
  document: FlagDocument | null,
  context: Context,
  versions?: Versions,
): Evaluation {
  if (document === null) return failure(404, key, 'FLAG_NOT_FOUND', 'there is no such flag');
  const { rules, fault, values } = document;
  if (rules === null) return failure(400, key, 'PARSE_ERROR', fault);
  const decision = evaluate(rules, document.key, context, versions);
  if (decision.kind === 'no targeting key') {
    return failure(400, key, 'TARGETING_KEY_MISSING', 'the rollout needs a targetingKey');
  }
  const head = `{"key":${JSON.stringify(key)},"reason":"`;
  if (decision.kind === 'disabled') return { status: 200, json: `${head}DISABLED"}` };
  const { variant, why } = decision;
  // Names of variants have letters, digits, _ and - alone.
  const json = `${head}${REASONS[why]}","variant":"${variant}","value":${values.get(variant) ?? 'null'}}`;
  return { status: 200, json };
}

function failure(status: 400 | 404, key: string, errorCode: FlagErrorCode, errorDetails: string): Evaluation {
  return { status, json: JSON.stringify({ key, errorCode, errorDetails }) };
}

interface BulkAnswer {
  readonly json: string;
  /** Of this answer, not of the documents: another context with other values has another one. */
  readonly tag: string;
}

/** All flags of a namespace. @param documents null: too many. @param eventsAt where they are followed */
export function bulkAnswer(
  documents: readonly FlagDocument[] | null,
  context: Context,
  eventsAt: string,
): BulkAnswer {
  if (documents === null) throw tooMuch(`more than ${LIMITS.flagsOfNamespace} flags`);
  const versions: Versions = new Map();
  const flags = documents
    .map((document) => evaluation(document.key, document, context, versions).json)
    .join(',');
  const streams = [{ type: 'sse', endpoint: { requestUri: eventsAt }, inactivityDelaySec: 120 }];
  const json = `{"flags":[${flags}],"eventStreams":${JSON.stringify(streams)}}`;
  if (Buffer.byteLength(json) > LIMITS.flagsAnswer) throw tooMuch(`more than ${LIMITS.flagsAnswer} octets`);
  return { json, tag: `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"` };
}

function tooMuch(what: string): FlagRefusal {
  return new FlagRefusal(500, `the namespace has ${what}; ask for single flags`);
}
