import type { Model, Pending } from './model.ts';
import type { RestCheck } from './rest-reads.ts';
import { ModelError } from './told.ts';

export interface PreconditionsCheck extends RestCheck {
  /** A backup was put back: records may have tags from before again. */
  restored(): void;
}

/** What was asked for on a condition was done only while the condition held: nobody overwrites what he has not seen. */
export function createPreconditionsCheck(model: Model): PreconditionsCheck {
  const { state } = model;
  /** When a tag was told first, by id of its record and tag. */
  const told = new Map<string, number>();

  /** A write of other data that was begun after the tag was told, and answered before this was asked. */
  function isStale(key: string, since: number, { from }: Pending): boolean {
    for (const { key: of, write } of state.byData.values()) {
      if (of === key && write.isCertain && !write.isVoid && write.from > since && write.to < from)
        return true;
    }
    return false;
  }

  return {
    restored: () => told.clear(),
    answered(pending, { status, body, headers: { etag } }) {
      const { method, path, headers = {} } = pending.request;
      if (status < 200 || status >= 300 || !path.startsWith('/records')) return;
      const [, id] = /^\/records\/([^/?]+)$/.exec(path) ?? [];
      const tag = headers['if-match'];
      const key = state.keys.get(id ?? '');
      if (tag !== undefined && key !== undefined) {
        const since = told.get(`${id} ${tag}`) ?? Number.POSITIVE_INFINITY;
        if (isStale(key, since, pending))
          throw new ModelError(
            `${method} ${path} of ${key} if ${tag} is answered ${status}: it was another one`,
          );
      }
      if (typeof etag !== 'string' || typeof body?.id !== 'string') return;
      const name = `${body.id} ${etag}`;
      if (!told.has(name)) told.set(name, model.now());
    },
  };
}
