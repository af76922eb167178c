/**
 * A customer whose namespace keeps history, and who waits for each answer: lists, versions, restores and undos are foreseen exactly. After an
 * answer that did not come he begins again, with another account.
 */
import { ModelError, type RestAnswer } from '../model/told.ts';
import { createVersions, type Versions, type Write } from '../model/versions.ts';
import type { Random } from '../random.ts';
import type { Operator, Rest } from './clients.ts';

export interface Keeper {
  enter(step: number): void;
  /** Does some things in some steps, unless something is under way. */
  perhaps(): void;
  /** With nothing that fails he is answered. */
  finish(): void;
  isActing(): boolean;
  /** A backup was put back. */
  restored(): void;
}

interface KeeperOptions {
  readonly random: Random;
  readonly rest: Rest;
  readonly operator: Operator;
  readonly wrong: (error: unknown) => void;
  readonly count: (what: string) => void;
}

/** What he has in one account. */
interface Home {
  readonly name: string;
  readonly versions: Versions;
  /** Writes with what their answers said of their place. */
  readonly writes: { readonly place: string; readonly write: Write }[];
  readonly ids: Map<string, string>;
  token: string | null;
  id: string | null;
  isLost: boolean;
}

/** In so many steps of a storm. */
const ACTS = 0.6;
const ACTS_MOST = 5;
/** Fewer than small limits allow versions of an account. */
const WRITES_MOST = 16;
const VERSIONS = [2, 20];
const DAYS = 365;

/** No answer came, or one that says nothing: what he has is not known any more. */
class Lost extends Error {}

export function createKeeper({ random, rest, operator, wrong, count }: KeeperOptions): Keeper {
  let isActing = false;
  let homes = 0;
  let payloads = 0;
  let home = newHome();

  function newHome(): Home {
    homes++;
    return {
      name: `kept-${homes}`,
      versions: createVersions(),
      writes: [],
      ids: new Map(),
      token: null,
      id: null,
      isLost: false,
    };
  }

  const keyOf = (of: Home): string => `${random.pick(['a', 'b', 'c'])}.doc.${of.name}.v1`;
  const newData = (): string => Buffer.from(`kept ${++payloads}`).toString('base64');

  /** @throws Lost */
  async function send(of: Home, method: string, path: string, body?: object): Promise<RestAnswer> {
    const account = `${of.name}@example.org`;
    of.token ??= await operator.user(account, 'team');
    const { answer } = await rest.request({ account, credential: 'session', method, path, body }, of.token);
    // A month of sleep ends the session, and a restore the account.
    if (answer === null || answer.status >= 500 || answer.status === 401) throw new Lost();
    return answer;
  }

  /** @throws ModelError, Lost */
  async function expect(
    of: Home,
    status: number,
    method: string,
    path: string,
    body?: object,
  ): Promise<RestAnswer> {
    const answer = await send(of, method, path, body);
    if (answer.status !== status)
      throw wrongly(
        `${method} ${path} ${JSON.stringify(body)} is answered ${answer.status}, and not ${status}: ${JSON.stringify(answer.body)}`,
      );
    return answer;
  }

  const wrongly = (reason: string): ModelError => new ModelError(`the history: ${reason}`);

  function wrote({ writes, ids }: Home, { headers, body }: RestAnswer, write: Write): void {
    writes.push({ place: headers['x-service-seq'] as string, write });
    for (const { key, id } of [body, body?.records ?? [], body?.restored ?? []].flat())
      if (key !== undefined) ids.set(key, id);
  }

  async function founded(of: Home): Promise<void> {
    if (of.id !== null) return;
    const { body } = await expect(of, 201, 'POST', '/namespaces', { namespace: { name: of.name } });
    of.id = body.id;
  }

  async function switchTo(of: Home, versions: number | null): Promise<void> {
    const history = versions === null ? null : { versions, days: DAYS };
    await expect(of, 200, 'PATCH', `/namespaces/${of.id}`, { namespace: { history } });
    of.versions.keep(versions);
  }

  const acts: Readonly<Record<string, (of: Home) => Promise<void>>> = {
    // On or off alone: what a lower number drops goes some time later.
    async switches(of) {
      await switchTo(of, of.versions.isKept() ? null : random.pick(VERSIONS));
    },
    async writes(of) {
      const key = keyOf(of);
      const data = newData();
      const isNew = of.versions.present(key) === null;
      const answer = isNew
        ? await expect(of, 201, 'POST', '/records', { record: { key, data } })
        : await expect(of, 200, 'PATCH', `/records/${of.ids.get(key)}`, { record: { data } });
      wrote(of, answer, of.versions.write(new Map([[key, data]])));
    },
    async deletes(of) {
      const key = keyOf(of);
      if (of.versions.present(key) === null) return;
      const erases = random.chance(0.3);
      const answer = await expect(
        of,
        204,
        'DELETE',
        `/records/${of.ids.get(key)}${erases ? '?erase=true' : ''}`,
      );
      if (erases) of.versions.erase(key);
      else wrote(of, answer, of.versions.write(new Map([[key, null]])));
    },
    async 'writes many'(of) {
      const [gone, ...kept] = ['a', 'b', 'c'].map((label) => `${label}.doc.${of.name}.v1`);
      const records = kept.map((key) => ({ key, data: newData() }));
      const answer = await expect(of, 200, 'POST', '/records/bulk', { records, delete: [gone] });
      const values = records.map(({ key, data }): [string, string] => [key, data]);
      wrote(of, answer, of.versions.write(new Map<string, string | null>([...values, [gone!, null]])));
    },
    async lists(of) {
      const key = keyOf(of);
      const isKept = of.versions.isKept();
      const { body } = await expect(
        of,
        isKept ? 200 : 422,
        'GET',
        `/namespaces/${of.id}/versions?key=${key}`,
      );
      if (!isKept) return;
      const listed = (body.versions as { version: number; cause: string | null }[]).map((each) => [
        each.version,
        each.cause,
      ]);
      const wanted = of.versions.list(key);
      if (JSON.stringify(listed) !== JSON.stringify(wanted))
        throw wrongly(`${key} has the versions ${JSON.stringify(listed)}, and not ${JSON.stringify(wanted)}`);
    },
    async counts(of) {
      const { body } = await expect(of, 200, 'GET', '/usage');
      const [used, wanted] = [body.versions.used as number, of.versions.count()];
      if (used !== wanted) throw wrongly(`${used} versions are counted, and there are ${wanted}`);
    },
    async reads(of) {
      const key = keyOf(of);
      if (of.versions.present(key) === null || !of.versions.isKept()) return;
      const number = random.between(1, of.versions.present(key)!.number);
      const data = of.versions.data(key, number);
      const path = `/records/${of.ids.get(key)}/versions/${number}`;
      const { body } = await expect(of, data === null ? 404 : 200, 'GET', path);
      if (data !== null && body.data !== data) throw wrongly(`version ${number} of ${key} has other data`);
    },
    async restores(of) {
      const key = keyOf(of);
      if (!of.versions.isKept()) return;
      const present = of.versions.present(key);
      const numbers = of.versions.list(key).map(([number]) => number);
      const version = random.chance(0.2) || numbers.length === 0 ? 99 : random.pick(numbers);
      const data = of.versions.data(key, version);
      const [path, body, done] =
        present === null
          ? [`/namespaces/${of.id}/restore`, { key, version }, 201]
          : [`/records/${of.ids.get(key)}/restore`, { version }, 200];
      const answer = await expect(
        of,
        data === null ? 404 : (done as number),
        'POST',
        path as string,
        body as object,
      );
      if (data !== null) wrote(of, answer, of.versions.write(new Map([[key, data]])));
    },
    async undoes(of) {
      if (of.writes.length === 0) return;
      const isKept = of.versions.isKept();
      const { place, write } = random.chance(0.6) ? of.writes.at(-1)! : random.pick(of.writes);
      const { how, write: undone } = isKept ? of.versions.undo(write) : { how: null, write: null };
      const status = how === null ? 422 : { missing: 404, changed: 412, done: 200 }[how];
      const answer = await expect(of, status, 'POST', `/namespaces/${of.id}/undo`, { write: place });
      if (undone !== null) wrote(of, answer, undone);
    },
    async 'erases versions'(of) {
      if (!of.versions.isKept()) return;
      const key = keyOf(of);
      await expect(of, 204, 'DELETE', `/namespaces/${of.id}/versions?key=${key}`);
      of.versions.eraseVersions(key);
    },
  };

  /** What is there twice comes twice as often. */
  const drawn = [
    ...['writes', 'writes', 'writes', 'deletes', 'writes many', 'restores', 'undoes', 'undoes'],
    ...['lists', 'lists', 'lists', 'reads', 'reads', 'counts', 'switches', 'erases versions'],
  ];

  async function act(of: Home, what: string): Promise<void> {
    await acts[what]!(of);
    count(`keeper ${what}`);
  }

  async function some(of: Home): Promise<void> {
    await founded(of);
    if (!of.versions.isKept() && random.chance(0.7)) await switchTo(of, random.pick(VERSIONS));
    for (let left = random.between(1, ACTS_MOST); left > 0; left--) await act(of, random.pick(drawn));
  }

  /** @throws ModelError, Lost */
  async function all(of: Home): Promise<void> {
    await founded(of);
    if (!of.versions.isKept()) await switchTo(of, VERSIONS[1]!);
    for (const what of ['writes', 'writes many', 'undoes', 'lists', 'reads', 'deletes', 'restores', 'counts'])
      await act(of, what);
  }

  /** @returns whether all of it was answered */
  async function tried(run: (of: Home) => Promise<void>): Promise<boolean> {
    if (home.isLost || home.writes.length >= WRITES_MOST) home = newHome();
    const of = home;
    try {
      await run(of);
      return true;
    } catch (error) {
      if (!(error instanceof Lost) && !of.isLost) wrong(error);
      of.isLost = true;
      return false;
    }
  }

  function begin(run: () => Promise<void>): void {
    isActing = true;
    void run().finally(() => {
      isActing = false;
    });
  }

  return {
    enter: (step) => random.enter(step),
    perhaps() {
      if (!random.chance(ACTS) || isActing) return;
      begin(async () => void (await tried(some)));
    },
    finish() {
      begin(async () => {
        // A session may have ended, once.
        if (!(await tried(all)) && !(await tried(all)))
          wrong(wrongly('nothing is answered, with nothing that fails'));
      });
    },
    isActing: () => isActing,
    restored() {
      home.isLost = true;
    },
  };
}
