import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AppError, InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Clock, formatTimeOrNull } from '../../base/time.ts';
import { auditExport, exportThen } from '../../control/history/export.ts';
import { listOwnNamespaces, ownerActor } from '../../control/namespaces/rules.ts';
import { writeBulk } from '../../control/records/bulk.ts';
import { type Bulk, parseBulk } from '../../control/records/bulk-shapes.ts';
import { type ExportedRecord, exportRecords } from '../../control/records/listing.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { withStore } from '../context.ts';
import { print, stopOnClosedPipe } from '../output.ts';

const NEWLINE = 0x0a;

/**
 * The lines of a UTF-8 stream, without LF or CRLF. Holds at most one chunk and one line. Throws InputError once a line
 * exceeds `max` octets.
 */
export async function* readLines(input: AsyncIterable<Buffer | string>, max: number): AsyncGenerator<string> {
  let held = Buffer.alloc(0);
  let line = 1;
  for await (const part of input) {
    const chunk = typeof part === 'string' ? Buffer.from(part) : part;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      checkLength(held.length + end - start, line, max);
      yield textOf(Buffer.concat([held, chunk.subarray(start, end)]));
      held = Buffer.alloc(0);
      start = end + 1;
      line++;
    }
    checkLength(held.length + chunk.length - start, line, max);
    held = Buffer.concat([held, chunk.subarray(start)]);
  }
  if (held.length > 0) yield textOf(held);
}

function checkLength(octets: number, line: number, max: number): void {
  if (octets > max) throw new InputError(`line ${line} is longer than ${max} octets`);
}

function textOf(line: Buffer): string {
  return line.toString('utf8').replace(/\r$/, '');
}

/**
 * Prints every record of a namespace, one JSON object a line, in the form that `import` and the API take.
 * @param time undefined: as they are. Else as they were then
 */
export async function exportNamespace(clock: Clock, namespace: string, time?: string): Promise<void> {
  stopOnClosedPipe();
  await withStore(clock, async ({ deps }) => {
    const owner = await ownerActor(deps, namespace);
    const name = namespace.toLowerCase();
    const batches =
      time === undefined ? exportRecords(deps, owner, name) : await exportThen(deps, owner, name, time);
    const own = (await listOwnNamespaces(deps, owner)).find((one) => one.name === name);
    if (own !== undefined) await auditExport(deps, owner, own);
    for await (const batch of batches) {
      // A pipe that is full must hold us up, or a million records would wait in memory.
      const lines = batch.map((record) => `${JSON.stringify(record)}\n`).join('');
      if (!process.stdout.write(lines)) await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  });
}

/**
 * Stores the records of a file, replacing those with the same key, 500 a unit of work. A fault stops it at its unit and
 * names the line; the units before it stay, and the same file can be imported again.
 */
export async function importNamespace(
  clock: Clock,
  namespace: string,
  file: string,
  { dryRun = false }: { readonly dryRun?: boolean },
  json: boolean,
): Promise<void> {
  const name = namespace.toLowerCase();
  if (dryRun) {
    await tellImport(clock, name, file, json);
    return;
  }
  const count = await withStore(clock, async ({ deps }) => {
    const owner = await ownerActor(deps, name);
    let stored = 0;
    for await (const { line, records } of batches(file, name)) {
      // One time for both: a record that ends between them would be refused, and end the import.
      const now = clock();
      const lasting = [...records.values()].filter((record) => !isDue(record, now));
      if (lasting.length === 0) continue;
      await writeBulk({ ...deps, clock: () => now }, owner, { records: lasting }).catch((error: unknown) => {
        throw new InputError(`from line ${line}: ${messageOf(error)}`);
      });
      stored += lasting.length;
    }
    return stored;
  });
  print(json ? JSON.stringify({ namespace: name, records: count }) : `${name}: ${count} records`);
}

/** Says what an import would do. A record that is refused does not end it. */
async function tellImport(clock: Clock, name: string, file: string, json: boolean): Promise<void> {
  const counts = { new: 0, replaced: 0, unchanged: 0, refused: 0 };
  const faults: string[] = [];
  await withStore(clock, async ({ deps }) => {
    const owner = await ownerActor(deps, name);
    const present = new Map<string, string>();
    for await (const batch of exportRecords(deps, owner, name)) {
      for (const { key, ...rest } of batch) present.set(key, digestOf(rest));
    }
    for await (const { line, record } of recordsOf(file, name)) {
      const now = clock();
      if (typeof record !== 'string' && isDue(record, now)) continue;
      const read =
        typeof record === 'string' ? record : readAlone(line, record, { now, zoneLength: deps.zoneLength });
      if (typeof read === 'string') {
        counts.refused++;
        if (faults.length < FAULTS_SHOWN) faults.push(read);
        continue;
      }
      const { key, data, content_type, encoding, ttl_seconds, expires_at } = read;
      const digest = digestOf({
        data: data.toString('base64'),
        content_type,
        ...(encoding !== null && { encoding }),
        ttl_seconds,
        expires_at: formatTimeOrNull(expires_at),
      });
      const old = present.get(key);
      if (old === undefined) counts.new++;
      else if (old === digest) counts.unchanged++;
      else counts.replaced++;
      present.set(key, digest);
    }
  });
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  const { new: added, replaced, unchanged, refused } = counts;
  print(
    json
      ? JSON.stringify({ namespace: name, ...counts })
      : `${name}: ${added} new, ${replaced} replaced, ${unchanged} unchanged, ${refused} refused`,
  );
  if (refused > 0) throw new InputError('an import would stop at the first refused record');
}

const FAULTS_SHOWN = 20;

/** The values of a record, in few octets: a namespace may have a million. */
function digestOf(record: Omit<ExportedRecord, 'key'>): string {
  const { data, content_type, encoding, ttl_seconds, expires_at } = record;
  const text = JSON.stringify([data, content_type, encoding, ttl_seconds, expires_at]);
  return createHash('sha256').update(text).digest('base64');
}

/** @returns the record, or what is wrong with it */
function readAlone(
  line: number,
  record: object,
  context: Parameters<typeof parseBulk>[1],
): Bulk['records'][number] | string {
  try {
    return parseBulk({ records: [record] }, context).records[0]!;
  } catch (error) {
    return `line ${line}: ${messageOf(error).replaceAll('records[0].', '')}`;
  }
}

interface Batch {
  /** Number of its first line. */
  readonly line: number;
  /** By key. A record that was deleted and made again during the export is there twice: the later line counts. */
  readonly records: Map<string, object>;
}

async function* batches(file: string, namespace: string): AsyncGenerator<Batch> {
  let batch: Batch = { line: 1, records: new Map() };
  for await (const { line, record } of recordsOf(file, namespace)) {
    if (typeof record === 'string') throw new InputError(record);
    if (batch.records.size === 0) batch = { line, records: batch.records };
    batch.records.set(foldCase(record.key), record);
    if (batch.records.size === LIMITS.bulkItems) {
      yield batch;
      batch = { line: line + 1, records: new Map() };
    }
  }
  if (batch.records.size > 0) yield batch;
}

interface Line {
  readonly line: number;
  /** A text: what is wrong with the line. */
  readonly record: (Readonly<Record<string, unknown>> & { readonly key: string }) | string;
}

async function* recordsOf(file: string, namespace: string): AsyncGenerator<Line> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  let line = 0;
  for await (const text of readLines(input, LIMITS.importLine)) {
    line++;
    if (text.trim() !== '') yield { line, record: parseLine(text, line, namespace) };
  }
}

/** Whether the time of a record of the file has passed since the export. */
function isDue(record: object, now: number): boolean {
  return (
    'expires_at' in record && typeof record.expires_at === 'string' && Date.parse(record.expires_at) <= now
  );
}

function parseLine(text: string, line: number, namespace: string): Line['record'] {
  const value = parseObject(text);
  if (value === null) return `line ${line} is not a JSON object`;
  const { key, expires_at: expiresAt, ...rest } = value;
  if (typeof key !== 'string' || foldCase(key).split('.').at(-2) !== namespace) {
    return `line ${line} has a key outside the namespace`;
  }
  if (expiresAt === null || expiresAt === undefined) return { key, ...rest };
  return { key, expires_at: expiresAt, ...rest };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function messageOf(error: unknown): string {
  if (error instanceof AppError) return error.messages.join('; ');
  return error instanceof Error ? error.message : 'failed';
}
