import assert from 'node:assert/strict';
import { EventEmitter, on, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { type RunningProgram, startProgram, type Variables } from './program.ts';

/** Tells the test when it starts and which signals it gets. It ends when the test sends it an exit code. */
const SCRIPT = `
  const test = require('node:net').connect(Number(process.env.TEST_PORT), '127.0.0.1');
  for (const name of ['SIGTERM', 'SIGINT', 'SIGQUIT']) process.on(name, () => test.write(name + '\\n'));
  test.write('start ' + process.env.MODE + '\\n');
  test.on('data', (code) => process.exit(Number(code))).on('close', () => process.exit(1));
`;

interface World {
  readonly program: RunningProgram;
  readonly timers: ManualTimers;
  readonly variables: (mode: string) => Variables;
  /** The next thing that the program tells. */
  readonly told: () => Promise<string>;
  /** What we do when a signal comes for us. */
  readonly signal: (name: NodeJS.Signals) => void;
  /** Ends the program. */
  readonly end: (code: number) => void;
}

async function withProgram(run: (world: World) => Promise<void>): Promise<void> {
  const lines = new EventEmitter();
  const told = on(lines, 'line');
  let socket: Socket | undefined;
  const server = createServer((connection) => {
    socket = connection;
    connection.on('error', () => {});
    createInterface(connection)
      .on('line', (line) => lines.emit('line', line))
      .on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = (server.address() as AddressInfo).port;
  const variables = (mode: string): Variables => ({ TEST_PORT: String(port), MODE: mode });
  const timers = createManualTimers();
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGCONT'];
  const before = new Map(signals.map((name) => [name, process.rawListeners(name)]));
  const program = startProgram([process.execPath, '-e', SCRIPT], variables('one'), undefined, timers);
  const added = (name: string) =>
    process.rawListeners(name).filter((listener) => !before.get(name)!.includes(listener));
  try {
    await run({
      program,
      timers,
      variables,
      told: async () => (await told.next()).value?.[0],
      signal: (name) => {
        for (const listener of added(name)) listener(name);
      },
      end: (code) => void socket?.write(String(code)),
    });
  } finally {
    for (const name of signals)
      for (const listener of added(name)) process.removeListener(name, listener as () => void);
    socket?.destroy();
    server.close();
  }
}

describe('a program that is started again', () => {
  it('gets SIGTERM, and SIGKILL when it has not ended after 10 s', () =>
    withProgram(async ({ program, timers, variables, told, end }) => {
      assert.equal(await told(), 'start one');
      program.restart(variables('two'));
      program.restart(variables('three'));
      assert.equal(await told(), 'SIGTERM');
      await timers.advance(9_999);
      assert.deepEqual(timers.pending(), [1]);
      await timers.advance(1);
      assert.equal(await told(), 'start three');
      program.restart(variables('four'));
      assert.equal(await told(), 'SIGTERM');
      end(0);
      assert.equal(await told(), 'start four');
      assert.deepEqual(timers.pending(), []);
      end(7);
      assert.equal(await program.ended, 7);
    }));

  for (const stop of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) {
    it(`has all the time that it wants when ${stop} comes for us meanwhile (SIGKILL of a program that is stopped)`, () =>
      withProgram(async ({ program, timers, variables, told, signal, end }) => {
        assert.equal(await told(), 'start one');
        program.restart(variables('two'));
        assert.equal(await told(), 'SIGTERM');
        signal(stop);
        assert.equal(await told(), stop);
        await timers.advance(60_000);
        end(5);
        assert.equal(await program.ended, 5);
      }));
  }

  it('is not, once SIGTERM has come for us (start of a program that is stopped)', () =>
    withProgram(async ({ program, timers, variables, told, signal, end }) => {
      assert.equal(await told(), 'start one');
      signal('SIGTERM');
      assert.equal(await told(), 'SIGTERM');
      program.restart(variables('two'));
      assert.deepEqual(timers.pending(), []);
      end(5);
      assert.equal(await program.ended, 5);
    }));
});
