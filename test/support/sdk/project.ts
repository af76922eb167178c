import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { installed } from './packed.ts';

/** A folder for programs: ES modules, with this package as published, OpenFeature, and what the receivers of the guide import. */
export interface Project {
  readonly folder: string;
  write(name: string, text: string): string;
  remove(): void;
}

export async function makeProject(): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-'));
  const packages = ['stripe', 'express', 'fastify', 'hono', '@hono/node-server'];
  await installed(folder, [...packages, '@openfeature/server-sdk', '@openfeature/core']);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return {
    folder,
    write: (name, text) => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** A child process that has printed that it listens. */
export interface Receiver {
  readonly port: number;
  /** Lines that it has printed since then. */
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/** @throws when it ends before it listens */
export async function startReceiver(program: string, path: string, signingSecret: string): Promise<Receiver> {
  const child = spawn(program, [path], {
    env: { SIGNING_SECRET: signingSecret, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const lines: string[] = [];
  const port = await portOf(child, lines);
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { port, lines, stop };
}

function portOf(child: ChildProcessByStdio<null, Readable, Readable>, lines: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const complaints: string[] = [];
    child.once('error', reject);
    child.once('close', (code) =>
      reject(new Error(`The receiver ended with ${code}: ${complaints.join('')}`)),
    );
    child.stderr.setEncoding('utf8').on('data', (text) => complaints.push(text));
    createInterface(child.stdout).on('line', (line) => {
      const port = /^listening on .*\D(\d+)\D*$/.exec(line)?.[1];
      if (port === undefined) lines.push(line);
      else resolve(Number(port));
    });
  });
}

/** @returns the status, or null when the connection was closed without one */
export function post(
  port: number,
  body: string | Uint8Array,
  headers: OutgoingHttpHeaders,
): Promise<number | null> {
  return new Promise((resolve) => {
    const outgoing = request({ host: '127.0.0.1', port, method: 'POST', agent: false, headers });
    outgoing.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? null);
    });
    outgoing.once('error', () => resolve(null));
    outgoing.end(body);
  });
}
