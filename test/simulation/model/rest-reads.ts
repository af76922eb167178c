import { recordOf } from './effects.ts';
import type { Model, Pending } from './model.ts';
import { done, type Register, type Write } from './register.ts';
import { namespaceOf, type RecordValue } from './state.ts';
import { type ClockRange, ModelError, type RestAnswer } from './told.ts';

/**
 * What REST shows is what was there at some instant between request and answer: every acknowledged write survives, no refused one is seen, and
 * one that was seen stays.
 */
export interface RestCheck {
  /**
   * The model was told already.
   * @param clock of the process that answered
   * @throws ModelError
   */
  answered(pending: Pending, answer: RestAnswer, clock: ClockRange): void;
}

interface RestCheckOptions {
  /** By how many milliseconds a process that deletes what has expired may be, or was, ahead of the real time. */
  readonly ahead: () => number;
}

type Body = RestAnswer['body'];

export function createRestCheck(model: Model, { ahead }: RestCheckOptions): RestCheck {
  const { state } = model;

  /** Deleted when it expired, or hidden. */
  const mayBeGone = (value: RecordValue | null, clock: ClockRange): boolean =>
    value === null ||
    value.expiresAt === undefined ||
    (value.expiresAt !== null && value.expiresAt <= Math.max(clock.to, model.time() + ahead()));

  function checkRecord(body: Body, from: number, clock: ClockRange): void {
    const { key, data } = body as { readonly key: string; readonly data?: string };
    const shown = recordOf(body);
    if (shown.expiresAt != null && shown.expiresAt <= clock.from) {
      throw new ModelError(`REST shows ${key}, which has expired at ${shown.expiresAt}`);
    }
    state.keys.set(shown.id!, key);
    const writes = state.record(key).possible(from, model.now());
    const same = writes.filter(({ value }) => value !== null && isSame(value, shown));
    // One of which all is known, before one that may be any.
    const write = same.find(({ value }) => value!.expiresAt !== undefined) ?? same[0];
    if (write === undefined) {
      throw new ModelError(`REST shows ${key} as ${JSON.stringify(body)}: ${writes.map(textOf).join(' | ')}`);
    }
    if (data !== undefined) model.seen(key, data);
    // What the answer of the write would have told.
    if (write.value!.id === undefined || write.value!.expiresAt === undefined) {
      write.value = { ...shown, data: write.value!.data };
    }
  }

  function checkMissing(key: string, from: number, clock: ClockRange, where: string, id?: string): void {
    const writes = state.record(key).possible(from, model.now());
    const isRight = writes.some(
      ({ value }) => mayBeGone(value, clock) || (id !== undefined && value!.id !== id),
    );
    if (!isRight) throw new ModelError(`${where} lacks ${key}: ${writes.map(textOf).join(' | ')}`);
  }

  /** Namespaces of the account that exist at all these instants: their records must be in a listing. */
  function isSurelyOwn(key: string, account: string, from: number): boolean {
    const only = <V>(register: Register<V>): V | undefined => {
      const writes = register.possible(from, model.now());
      return writes.length === 1 ? writes[0]!.value : undefined;
    };
    const id = only(state.name(namespaceOf(key)));
    const namespace = id == null ? undefined : state.namespaces.get(id);
    return namespace?.account === account && only(namespace.isClosed) === false;
  }

  return {
    answered({ request: { account, credential, method, path }, from }, { status, body }, clock) {
      if (method !== 'GET') return;
      const url = new URL(path, 'http://rest');
      const [, id] = /^\/records\/([^/]+)$/.exec(url.pathname) ?? [];
      if (id !== undefined) {
        const key = state.keys.get(id);
        if (status === 200) checkRecord(body, from, clock);
        // A key with an allowlist is refused, whatever there is.
        if (status === 404 && key !== undefined && isSurelyOwn(key, account, from)) {
          checkMissing(key, from, clock, 'GET of the record', id);
        }
        return;
      }
      if (url.pathname === '/records' && status === 200) {
        const records = body as readonly { readonly key: string; readonly id: string }[];
        const keys = records.map(({ key }) => key);
        // A key may be there twice: deleted, and made again, while the listing was read.
        if (new Set(records.map((record) => record.id)).size < records.length)
          throw new ModelError(`a listing has a record twice: ${keys.join()}`);
        for (const record of records) checkRecord(record, from, clock);
        // Pages end where their limit says.
        if (credential !== 'session' || url.searchParams.has('limit')) return;
        const namespace = url.searchParams.get('namespace');
        for (const key of state.records.keys()) {
          if (keys.includes(key) || (namespace !== null && namespaceOf(key) !== namespace)) continue;
          if (isSurelyOwn(key, account, from)) checkMissing(key, from, clock, 'the listing');
        }
      }
      if (url.pathname === '/namespaces' && status === 200) {
        for (const namespace of body as readonly { readonly id: string; readonly name: string }[]) {
          checkNamespace(namespace, account, from);
        }
      }
    },
  };

  function checkNamespace(body: Body, account: string, from: number): void {
    const { id, name, public_read: isOpen = false, suspended = false, max_ttl: maxTtl } = body;
    const isNew = !state.namespaces.has(id);
    const namespace = state.namespace(id, name, account);
    // Whoever made it was not told.
    if (isNew) done(state.name(name).begin(id, 0), model.now());
    const wrong = (
      [
        ['a namespace that was deleted', namespace.isClosed, false],
        ['public_read', namespace.publicRead, isOpen],
        ['suspended', namespace.isSuspended, suspended],
        ['max_ttl', namespace.maxTtl, maxTtl],
      ] as readonly [string, Register<unknown>, unknown][]
    ).find(
      ([, register, value]) => !register.possible(from, model.now()).some((write) => write.value === value),
    );
    if (wrong !== undefined)
      throw new ModelError(`GET /namespaces shows of ${name}: ${wrong[0]} ${String(wrong[2])}`);
  }
}

/** As far as the writer knows what it wrote. */
function isSame(written: RecordValue, shown: RecordValue): boolean {
  return (Object.keys(written) as (keyof RecordValue)[]).every(
    (field) => written[field] === undefined || shown[field] === undefined || written[field] === shown[field],
  );
}

const textOf = ({ value, from, to }: Write<RecordValue | null>): string =>
  `${from}-${to} ${value === null ? 'nothing' : JSON.stringify(value)}`;
