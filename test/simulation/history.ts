/** What each thing of a database was after each change, so that every view can be compared with the log at any place. */

import type { HostedRecord } from '../../src/view/view.ts';

/** Value of one thing from a `seq` on; null: it does not exist. */
interface Version {
  readonly seq: number;
  readonly value: string | null;
  /** The log does not have this payload any more: a view that reads it later withholds the record. */
  isErased: boolean;
}

/** A payload that was erased before anybody looked at the log: whoever was faster has it. */
const UNKNOWN = '';

/** What a view has of a record whose payload was gone from the log when it came there. */
export const WITHHELD = 'withheld';

export interface History {
  /** @param id of a namespace, token or record, with a prefix for the kind */
  put(id: string, seq: number, value: string | null): void;
  /** Of a record: the log has the change, and its payload no more. */
  putErased(id: string, seq: number): void;
  /** The payload of all versions but the last is no longer in the log. */
  erase(id: string): void;
  ids(): Iterable<string>;
  /** Whether a view may have this value when it has every change up to `from`, and perhaps later ones. */
  allows(id: string, value: string | null, from: number): boolean;
  /** Whether it did not exist at some time from `seq` on. */
  wasAway(id: string, seq: number): boolean;
  last(id: string): string | null;
  /** The history up to `seq`, as a backup has it. */
  upTo(seq: number): History;
}

export function createHistory(versions = new Map<string, Version[]>()): History {
  const add = (id: string, version: Version): void => {
    const list = versions.get(id) ?? [];
    versions.set(id, list);
    list.push(version);
  };
  const ofId = (id: string): readonly Version[] => versions.get(id) ?? [];

  function isLastAt(list: readonly Version[], at: number, from: number): boolean {
    const next = list[at + 1];
    return next === undefined || next.seq > from;
  }

  return {
    // Of two changes in one transaction of the model the later one counts.
    put: (id, seq, value) => add(id, { seq, value, isErased: false }),
    putErased: (id, seq) => add(id, { seq, value: UNKNOWN, isErased: true }),
    erase(id) {
      for (const version of ofId(id).slice(0, -1)) if (version.value !== null) version.isErased = true;
    },
    ids: () => versions.keys(),
    allows(id, value, from) {
      const list = ofId(id);
      const isIt = (version: Version): boolean =>
        version.value === value ||
        (value === WITHHELD && version.isErased) ||
        (value !== null && version.value === UNKNOWN);
      return (
        (value === null && (list.length === 0 || list[0]!.seq > from)) ||
        list.some((version, at) => isIt(version) && isLastAt(list, at, from))
      );
    },
    wasAway: (id, seq) => {
      const list = ofId(id);
      return (
        list.length === 0 || list.some((version, at) => version.value === null && isLastAt(list, at, seq))
      );
    },
    last: (id) => ofId(id).at(-1)?.value ?? null,
    upTo: (seq) =>
      createHistory(
        new Map(
          [...versions].map(([id, list]) => [
            id,
            list.filter((version) => version.seq <= seq).map((version) => ({ ...version })),
          ]),
        ),
      ),
  };
}

export function openness(publicRead: boolean, maxTtl: number | undefined): string {
  return `${publicRead ? 'public' : 'private'}, TTL ${maxTtl}`;
}

export function versionName({ slug, version }: { readonly slug: string; readonly version: string }): string {
  return `dataset ${slug} ${version}`;
}

/** The proof of a version in the transparency log. */
export function proofName({ slug, version }: { readonly slug: string; readonly version: string }): string {
  return `proof ${slug} ${version}`;
}

/** The head of the transparency log that is published. */
export const LOG_HEAD = 'log';

/** All that an answer is made of. */
export function answerParts(record: Omit<HostedRecord, 'data'>, base64: string): string {
  const { plain, format, ttlSeconds, expiresAt } = record;
  return `${base64} ${plain ? 'plain' : 'b64'} ${format} ${ttlSeconds} ${expiresAt}`;
}
