/** Versions of records, over REST with UQRP_TOKEN. */
import { InputError, UsageError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { commandConfig } from '../context.ts';
import { diffOf } from '../diff.ts';
import { escapeControls, print, table } from '../output.ts';
import { acceptedBody, acceptedList, openRest, type RestClient } from '../rest.ts';

export interface ApiOption {
  readonly api?: string;
}

interface Version {
  readonly version: number;
  readonly valid_from: string;
  readonly valid_to: string | null;
  readonly cause: string | null;
  readonly content_type: string;
  readonly bytes: number;
  readonly data?: string;
}

const open = ({ api }: ApiOption): RestClient => openRest(api, commandConfig());

/** Prints the versions of a key, newest first. */
export async function showHistory(key: string, options: ApiOption, json: boolean): Promise<void> {
  const rest = open(options);
  const path = `/namespaces/${await namespaceIdOf(rest, key)}/versions?key=${encodeURIComponent(key)}&limit=100`;
  const all: Version[] = [];
  for (let cursor: unknown = ''; typeof cursor === 'string'; ) {
    const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { versions, meta } = acceptedBody(await rest.send('GET', `${path}${more}`), rest.origin);
    all.push(...(Array.isArray(versions) ? (versions as Version[]) : []));
    cursor = isJsonObject(meta) ? meta.next_cursor : null;
  }
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
  const record = await recordOf(rest, key);
  if (record === null) throw new InputError(`${foldCase(key)}: no record. restore-record makes it again`);
  const read = async (version: number): Promise<Buffer> => {
    const path = `/records/${record.id}/versions/${version}`;
    return dataOf(acceptedBody(await rest.send('GET', path), rest.origin), rest);
  };
  const before = await read(numbers[0]!);
  const after = numbers[1] === undefined ? dataOf(record.body, rest) : await read(numbers[1]);
  const lines = diffOf(before, after);
  print(json ? JSON.stringify({ key: foldCase(key), equal: before.equals(after), lines }) : shownDiff(lines));
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
  const record = await recordOf(rest, key);
  const reply =
    record === null
      ? await rest.send('POST', `/namespaces/${await namespaceIdOf(rest, key)}/restore`, {
          body: { key, version },
        })
      : await rest.send('POST', `/records/${record.id}/restore`, { body: { version } });
  const { id } = acceptedBody(reply, rest.origin);
  print(
    json
      ? JSON.stringify({ id, key: foldCase(key), restored: version })
      : `${foldCase(key)}: as in version ${version}`,
  );
}

/**
 * Undoes a write in each namespace that it wrote to and that keeps history.
 * @param write its X-Service-Seq
 * @throws InputError when a record changed since, or no namespace knows the write
 */
export async function undoWriteOver(
  write: string,
  options: ApiOption & { readonly namespace?: string },
  json: boolean,
): Promise<void> {
  const rest = open(options);
  const all = await namespacesOf(rest);
  const { namespace } = options;
  const asked = all.filter(({ name, history }) =>
    namespace === undefined ? history !== undefined : name === foldCase(namespace),
  );
  if (asked.length === 0) {
    throw new InputError(
      namespace === undefined ? 'no namespace keeps history' : `no namespace ${namespace}`,
    );
  }
  const undone: { restored: string[]; deleted: string[] } = { restored: [], deleted: [] };
  let known = false;
  for (const { id } of asked) {
    const reply = await rest.send('POST', `/namespaces/${String(id)}/undo`, { body: { write } });
    if (reply.status === 404) continue;
    const { restored, deleted } = acceptedBody(reply, rest.origin);
    known = true;
    undone.restored.push(...keysOf(restored));
    undone.deleted.push(...keysOf(deleted));
  }
  if (!known) throw new InputError('no namespace keeps versions of this write');
  const { restored, deleted } = undone;
  print(
    json
      ? JSON.stringify(undone)
      : [...restored.map((key) => `${key}: as before`), ...deleted.map((key) => `${key}: deleted`)].join(
          '\n',
        ),
  );
}

function keysOf(items: unknown): string[] {
  return (Array.isArray(items) ? (items as unknown[]) : [])
    .filter(isJsonObject)
    .map(({ key }) => String(key));
}

function versionOf(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new UsageError(`${text} is no number of a version`);
  return Number(text);
}

async function recordOf(rest: RestClient, key: string) {
  const reply = await rest.send('GET', `/records?key=${encodeURIComponent(key)}`);
  const [body] = acceptedList(reply, rest.origin);
  return body === undefined ? null : { id: String(body.id), body };
}

async function namespacesOf(rest: RestClient): Promise<readonly JsonObject[]> {
  return acceptedList(await rest.send('GET', '/namespaces'), rest.origin);
}

/** Of the namespace in a key. @throws InputError */
async function namespaceIdOf(rest: RestClient, key: string): Promise<string> {
  const name = foldCase(key).split('.').at(-2) ?? '';
  const found = (await namespacesOf(rest)).find((one) => one.name === name);
  if (found === undefined) throw new InputError(`the token reaches no namespace of ${escapeControls(key)}`);
  return String(found.id);
}

function dataOf({ data }: JsonObject, { origin }: RestClient): Buffer {
  if (typeof data !== 'string') throw new InputError(`${origin} sent no data: the credential lacks read`);
  return Buffer.from(data, 'base64');
}
