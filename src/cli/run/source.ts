/** The values of a namespace as the server has them, and the changes of them. */
import { ApiError, type RecordResource } from '../../../sdk/src/uqrp-sdk.ts';
import { InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { contentFormat, envelopeHead, FORMATS } from '../../protocol/query/envelope.ts';
import { escapeControls } from '../output.ts';
import type { Rest } from '../rest.ts';
import { countValues, type ValueRecord } from './values.ts';
import type { KeptRecord } from './values-copy.ts';

/** Records of a page: 500 with the longest payloads have 2 MB. */
const PAGE = 500;
/** How long a page may take. Milliseconds. */
const PATIENCE_MS = 10_000;

/** Records, and the same as the copy keeps them. */
export interface Values {
  readonly records: readonly ValueRecord[];
  readonly kept: readonly KeptRecord[];
}

/** Its methods throw the errors of the SDK, and the signal's reason once that aborts. */
export interface ValueSource {
  /** Of the server, for messages. */
  readonly origin: string;
  /** Where the feed of changes ends now. */
  cursor(signal?: AbortSignal): Promise<string>;
  /** @throws InputError for more octets than a program gets, and for a refusal (`isRefusal`) */
  read(signal?: AbortSignal): Promise<Values>;
  /** Waits for changes after the cursor. `isOurs`: the values may be others now. */
  changes(since: string, signal: AbortSignal): Promise<{ readonly next: string; readonly isOurs: boolean }>;
}

/** The token reaches no such namespace, or may not read it. */
class NoReach extends InputError {}

/** Whether the server refuses this credential, now and later. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof NoReach) return true;
  return error instanceof ApiError && !error.isPassing && (error.status === 401 || error.status === 403);
}

/** @param resource undefined: every one */
export function valueSource(
  { api, origin }: Rest,
  namespace: string,
  resource: string | undefined,
): ValueSource {
  const concerns = (key: string): boolean => resource === undefined || key.split('.').at(-3) === resource;
  return {
    origin,
    async cursor(signal) {
      return (await api.changesPage({ namespace }, { timeout: PATIENCE_MS, signal })).next;
    },
    async read(signal) {
      const patience = { timeout: PATIENCE_MS, signal };
      const records: ValueRecord[] = [];
      const kept: KeptRecord[] = [];
      const listing = api.records.list({ namespace, resource }, { limit: PAGE, ...patience });
      for await (const { items } of listing.pages()) {
        for (const row of items) {
          const [record, one] = valuesOf(row);
          records.push(record);
          kept.push(one);
        }
        countValues(records);
      }
      // A mistyped namespace, or one that is gone, has no records either: a program would start without its values.
      if (records.length === 0 && (await api.namespaces.find(namespace, patience)) === null)
        throw new NoReach(`UQRP_TOKEN reaches no namespace ${escapeControls(namespace)}`);
      return { records, kept };
    },
    async changes(since, signal) {
      const filter = { since, namespace, wait: LIMITS.changesWaitS };
      const { next, changes } = await api.changesPage(filter, { signal });
      return { next, isOurs: changes.some(({ key }) => key === undefined || concerns(key)) };
    },
  };
}

function valuesOf({ key, data, content_type, ttl_seconds }: RecordResource): [ValueRecord, KeptRecord] {
  if (data === undefined) throw new NoReach('UQRP_TOKEN may not read: the records came without data');
  const envelope = envelopeHead('b64', contentFormat(content_type, FORMATS), ttl_seconds) + data;
  return [
    { key, data: Buffer.from(data, 'base64') },
    { key, envelope },
  ];
}
