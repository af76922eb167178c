/** Records as variables of a program's environment. */
import { isUtf8 } from 'node:buffer';
import { envelopeTime, PayloadError, type PayloadOpener, RolledBack } from '../../../sdk/src/encryption.ts';
import { InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

/** A record whose payload becomes the value of a variable. */
export interface ValueRecord {
  readonly key: string;
  readonly data: Buffer;
}

/** Variables that decide what a program loads or runs, and our own credential. */
const STEERING: ReadonlySet<string> = new Set(
  (
    'PATH NODE_OPTIONS NODE_PATH BASH_ENV SHELLOPTS BASHOPTS PROMPT_COMMAND IFS PYTHONPATH PYTHONHOME PYTHONSTARTUP ' +
    'PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS GCONV_PATH UQRP_TOKEN'
  ).split(' '),
);
const STEERING_START = /^(?:LD|DYLD)_|^BASH_FUNC_/;
const FAULTS_SHOWN = 20;

/** Why octets cannot be the value of a variable; null: they can. */
function payloadFault(data: Buffer): string | null {
  if (!data.includes(0) && isUtf8(data)) return null;
  if (envelopeTime(data) !== null) return 'it seems encrypted or signed: give --key or --signed-by';
  return data.includes(0) ? 'its payload has an octet 0' : 'its payload is no text';
}

/**
 * `database-url.env.shop.v1` becomes DATABASE_URL.
 * @param allowed names that may be set although they decide what a program loads
 * @throws InputError that names every record at fault, and shows no value
 */
export function variablesOf(
  records: readonly ValueRecord[],
  allowed: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const faults: string[] = [];
  const keys = new Map<string, string>();
  const variables = new Map<string, string>();
  for (const { key, data } of records) {
    const name = variableName(key);
    const fault = nameFault(name, keys.get(name), allowed) ?? payloadFault(data);
    if (fault !== null) faults.push(`${key}: ${fault}`);
    keys.set(name, key);
    variables.set(name, data.toString('utf8'));
  }
  throwFaults(faults);
  return variables;
}

/** @throws InputError with the first faults */
function throwFaults(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const more = faults.length - FAULTS_SHOWN;
  const shown = faults.slice(0, FAULTS_SHOWN);
  throw new InputError([...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
}

/**
 * The records with decrypted and verified payloads.
 * @param opener null: as they are
 * @throws InputError that names every record that does not open
 */
export async function openedRecords(
  opener: PayloadOpener | null,
  records: readonly ValueRecord[],
): Promise<readonly ValueRecord[]> {
  if (opener === null) return records;
  const faults: string[] = [];
  const opened: ValueRecord[] = [];
  for (const { key, data } of records) {
    try {
      opened.push({ key, data: Buffer.from((await opener.open(key, data)).data) });
    } catch (error) {
      if (!(error instanceof PayloadError || error instanceof RolledBack)) throw error;
      faults.push(`${key}: ${error.message}`);
    }
  }
  throwFaults(faults);
  return opened;
}

/** The params of the key; empty without params. */
function variableName(key: string): string {
  return key.split('.').slice(0, -3).join('_').replaceAll('-', '_').toUpperCase();
}

function nameFault(name: string, other: string | undefined, allowed: ReadonlySet<string>): string | null {
  if (name === '') return 'its key has nothing before the resource to make a name of';
  if (/^\d/.test(name)) return `it would be ${name}, and no variable begins with a digit`;
  if (other !== undefined) return `it would be ${name}, as ${other} is`;
  if ((STEERING.has(name) || STEERING_START.test(name)) && !allowed.has(name))
    return `it would be ${name}, which decides what programs load. To allow it: --allow ${name}`;
  return null;
}

/** Adds up what a program gets. @throws InputError above the limit, so that a large namespace is not read to its end */
export function countValues(records: readonly ValueRecord[]): void {
  const octets = records.reduce((sum, { key, data }) => sum + key.length + data.length, 0);
  if (octets > LIMITS.runOctets)
    throw new InputError(
      `the records have more than ${LIMITS.runOctets} octets, which no program gets. --resource takes only some`,
    );
}
