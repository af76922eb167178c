import type { Model } from './model.ts';
import { payloadNumber, payloadsIn } from './payloads.ts';
import type { Write } from './register.ts';
import type { RecordValue } from './state.ts';
import { ModelError } from './told.ts';

/** What was replaced, deleted, refused or has expired is in no file, log, message or memory after its bound. */
export interface ErasureCheck {
  /** @param of octets of a file, or of what else may keep a payload. @throws ModelError */
  look(place: string, of: Uint8Array): void;
}

export interface ErasureOptions {
  /** Milliseconds after which it is gone, with all processes running. */
  readonly boundMs: number;
  /** An event with the payload waits to be delivered, so that it is kept. */
  readonly isOwed: (account: string, data: string) => boolean;
}

export function createErasureCheck(model: Model, { boundMs, isOwed }: ErasureOptions): ErasureCheck {
  const { state } = model;

  function mustBeGone(data: string, key: string, write: Write<RecordValue | null>): boolean {
    const before = model.numberAt(model.time() - boundMs) - 1;
    if (before < 1 || write.from > before || isOwed(write.by, data)) return false;
    // Of a request without an answer nobody knows when it ended.
    if (write.isVoid) return true;
    const isOver = (value: RecordValue | null): boolean =>
      value?.expiresAt != null && value.expiresAt <= model.time() - boundMs;
    if (write.to > before && !isOver(write.value)) return false;
    // A PATCH without data keeps those that were there, perhaps for longer.
    const present = state.record(key).possible(before, model.now());
    return present.every(
      ({ value }) => value === null || isOver(value) || (value.data !== undefined && value.data !== data),
    );
  }

  return {
    look(place, of) {
      const found = payloadsIn(of);
      if (found.size === 0) return;
      for (const [data, { key, write }] of state.byData) {
        if (!found.has(payloadNumber(data)) || !mustBeGone(data, key, write)) continue;
        const what = `${Buffer.from(data, 'base64').toString('latin1').slice(0, 20)} of ${key}`;
        throw new ModelError(`${place} still has ${what}, written from ${write.from} to ${write.to}`);
      }
    },
  };
}
