import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { envelopeText } from '../support/envelope-text.ts';
import type { Validation, Validator } from './daemon.ts';
import { bindAnchors } from './daemons.ts';

/** A program that asks, validates one answer, prints the result and ends. */
export interface OneShot {
  readonly name: string;
  readonly program: string;
  readonly debian: string;
  readonly version: readonly string[];
  /** Types that it cannot validate, also with zones of BIND. */
  readonly declines: readonly string[];
  /** It does not print rdata. */
  readonly isBlind: boolean;
  /** The content of its trust anchor file. */
  readonly anchors: (lines: readonly string[]) => string;
  readonly args: (options: OneShotQuestion) => readonly string[];
  readonly read: (output: string, type: string) => Validation;
}

interface OneShotQuestion {
  readonly file: string;
  readonly zone: string;
  readonly port: number;
  readonly name: string;
  readonly type: string;
}

const LIMIT_MS = 20_000;

/** Asks the server itself, and validates with the zone's keys as `+root`. */
export const DELV: OneShot = {
  name: 'delv',
  program: 'delv',
  debian: 'bind9-dnsutils',
  version: ['-v'],
  declines: ['RRSIG'],
  isBlind: false,
  anchors: bindAnchors,
  args: ({ file, zone, port, name, type }) => [
    '@127.0.0.1',
    ...['-p', String(port), '-a', file, `+root=${zone}`, '+nosplit', '-q', name, '-t', type],
  ],
  read(output, type) {
    const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith(';'));
    const found = lines.map((line) => line.split(/\s+/)).filter((fields) => fields[3] === type);
    const isSecure = /^; (?:negative response, )?fully validated/m.test(output);
    const isInsecure = /^; (?:unsigned answer|negative response, unsigned)/m.test(output);
    const quoted = lines.find((line) => /\sTXT\s+"/.test(line));
    return {
      status: isSecure ? 'secure' : isInsecure ? 'insecure' : 'failed',
      payload: quoted === undefined ? null : payloadOf(quoted),
      records: type === 'ANY' ? lines.length : found.length,
      ttl: found[0] === undefined ? null : Number(found[0][1]),
      detail: output.split('\n').find((line) => line.startsWith(';')) ?? output,
    };
  },
};

/**
 * Builds the chain of signatures from the answer to a trusted key (`-S`). It prints no record. It does not retry a
 * truncated answer, so it asks over TCP. Without a delegation the chain ends at our DS.
 */
export const DRILL: OneShot = {
  name: 'drill -S',
  program: 'drill',
  debian: 'ldnsutils',
  version: ['-v'],
  declines: ['ANY', 'RRSIG'],
  isBlind: true,
  anchors: (lines) => `${lines.join('\n')}\n`,
  args: ({ file, port, name, type }) => [
    '-t',
    '-S',
    '-k',
    file,
    '-p',
    String(port),
    name,
    type,
    '@127.0.0.1',
  ],
  read(output) {
    return {
      status: output.includes('Chase successful') ? 'secure' : 'failed',
      payload: null,
      records: output.includes('Existence is denied by') ? 0 : 1,
      ttl: null,
      detail: output.trim().split('\n').slice(-2).join(' '),
    };
  },
};

export function startOneShot(
  program: OneShot,
  { anchors, zone, port }: { anchors: readonly string[]; zone: string; port: number },
): Validator {
  const dir = mkdtempSync(join(tmpdir(), `uqrp-${program.program}-`));
  const file = join(dir, 'anchors');
  writeFileSync(file, program.anchors(anchors));
  return {
    port,
    ask: async (name, type) =>
      program.read(await output(program.program, program.args({ file, zone, port, name, type })), type),
    stop: async () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Output of a program on both streams, whatever its exit code. */
function output(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: LIMIT_MS, maxBuffer: 1 << 20 }, (_error, stdout, stderr) => {
      resolve(`${stderr}${stdout}`);
    });
  });
}

/** The envelope's payload from a TXT record in presentation format. */
function payloadOf(line: string): string | null {
  const text = [...line.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join('');
  return envelopeText(text);
}
