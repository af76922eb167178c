/** Versions of records, over REST with UQRP_TOKEN. */
import { ApiError } from '../../../sdk/src/uqrp-sdk.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { commandConfig } from '../context.ts';
import { diffOf } from '../diff.ts';
import { escapeControls, print, table } from '../output.ts';
import { openRest, type Rest } from '../rest.ts';

export interface ApiOption {
  readonly api?: string;
}

const open = ({ api }: ApiOption): Rest => openRest(api, commandConfig());

/** Prints the versions of a key, newest first. */
export async function showHistory(key: string, options: ApiOption, json: boolean): Promise<void> {
  const rest = open(options);
  const id = await namespaceIdOf(rest, key);
  const all = await rest.read((api) => api.namespaces.versions(id, key, { limit: 100 }).toArray());
  if (json) return print(JSON.stringify(all));
  if (all.length === 0) return print(`${foldCase(key)}: no versions`);
  print(
    table(
      all.map(({ version, valid_from, valid_to, cause, bytes, content_type }) => [
        String(version),
        valid_from,
        valid_to === null ? 'present' : `${valid_to} ${cause}`,
        `${bytes} bytes`,
        escapeControls(content_type),
      ]),
    ),
  );
}

/** Prints how two versions of a record differ. @param to undefined: the present value */
export async function diffVersions(
  key: string,
  from: string,
  to: string | undefined,
  options: ApiOption,
  json: boolean,
): Promise<void> {
  const numbers = [from, ...(to === undefined ? [] : [to])].map(versionOf);
  const rest = open(options);
  const record = await rest.read((api) => api.records.find(key));
  if (record === null) throw new InputError(await withoutRecord(rest, key));
  const read = async (version: number): Promise<Buffer> => {
    return dataOf(await rest.read((api) => api.records.version(record.id, version)), rest);
  };
  const before = await read(numbers[0]!);
  const after = numbers[1] === undefined ? dataOf(record, rest) : await read(numbers[1]);
  const lines = diffOf(before, after);
  print(json ? JSON.stringify({ key: foldCase(key), equal: before.equals(after), lines }) : shownDiff(lines));
}

/** A key that never had a record cannot be restored. */
async function withoutRecord(rest: Rest, key: string): Promise<string> {
  const id = await namespaceIdOf(rest, key);
  const { items } = await rest.read((api) => api.namespaces.versions(id, key, { limit: 1 }).page());
  const name = foldCase(key);
  return items.length === 0
    ? `${name}: no record, and no versions`
    : `${name}: no record. restore-record makes it again`;
}

function shownDiff(lines: readonly string[]): string {
  return lines.length === 0 ? 'equal' : lines.map(escapeControls).join('\n');
}

/** Gives the record the value of a version again, or makes it again where it was deleted. */
export async function restoreVersion(
  key: string,
  options: ApiOption & { readonly to: string },
  json: boolean,
): Promise<void> {
  const version = versionOf(options.to);
  const rest = open(options);
  const record = await rest.read((api) => api.records.find(key));
  const namespace = record === null ? await namespaceIdOf(rest, key) : '';
  const { id } = await rest.write((api) =>
    record === null
      ? api.namespaces.restore(namespace, key, version)
      : api.records.restore(record.id, version),
  );
  print(
    json
      ? JSON.stringify({ id, key: foldCase(key), restored: version })
      : `${foldCase(key)}: as in version ${version}`,
  );
}

/**
 * Undoes a write in each namespace that it wrote to and that keeps history. Goes on after a refusal,
 * and prints what was undone before it throws.
 * @param write its X-Service-Seq
 * @throws InputError with what was refused, by namespace, such as a record that changed since; or when no namespace knows the write
 */
export async function undoWriteOver(
  write: string,
  options: ApiOption & { readonly namespace?: string },
  json: boolean,
): Promise<void> {
  const rest = open(options);
  const all = await rest.read((api) => api.namespaces.list());
  const { namespace } = options;
  const asked = all.filter(({ name, history }) =>
    namespace === undefined ? history !== undefined : name === foldCase(namespace),
  );
  if (asked.length === 0) {
    throw new InputError(
      namespace === undefined ? 'no namespace keeps history' : `no namespace ${namespace}`,
    );
  }
  const undone: Undone = { restored: [], deleted: [] };
  const faults: string[] = [];
  let known = false;
  for (const { id, name } of asked) {
    try {
      const done = await rest.write((api) => api.namespaces.undo(id, write).catch(nullWhereUnknown));
      if (done === null) continue;
      known = true;
      undone.restored.push(...done.restored.map((one) => one.key));
      undone.deleted.push(...done.deleted.map((one) => one.key));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(`${name}: ${error.message}`);
    }
  }
  if (known) print(json ? JSON.stringify(undone) : shownUndo(undone));
  if (faults.length > 0) throw new InputError(faults.join('\n'));
  if (!known) throw new InputError('no namespace keeps versions of this write');
}

interface Undone {
  readonly restored: string[];
  readonly deleted: string[];
}

function shownUndo({ restored, deleted }: Undone): string {
  const lines = [...restored.map((key) => `${key}: as before`), ...deleted.map((key) => `${key}: deleted`)];
  return lines.join('\n');
}

function nullWhereUnknown(error: unknown): null {
  if (error instanceof ApiError && error.status === 404 && error.code === 'not_found') return null;
  throw error;
}

function versionOf(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new UsageError(`${text} is no number of a version`);
  return Number(text);
}

/** Of the namespace in a key. @throws InputError */
async function namespaceIdOf(rest: Rest, key: string): Promise<string> {
  const name = foldCase(key).split('.').at(-2) ?? '';
  const found = await rest.read((api) => api.namespaces.find(name));
  if (found === null) throw new InputError(`the token reaches no namespace of ${escapeControls(key)}`);
  return found.id;
}

function dataOf({ data }: { readonly data?: string }, { origin }: Rest): Buffer {
  if (data === undefined) throw new InputError(`${origin} sent no data: the credential lacks read`);
  return Buffer.from(data, 'base64');
}
