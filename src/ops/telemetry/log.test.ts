import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EVENTS, type EventName } from './events.ts';
import { createLog, describeError, type Log } from './log.ts';

const TOKEN = 'svcq0123456789abcdefghijklmnopqrstuv0123456789abcdefghij';

function recorded(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({ clock: () => 1_800_000_000_123, stream: { write: (line) => lines.push(line) } });
  return { log, lines };
}

describe('createLog', () => {
  it('writes one JSON line an event', () => {
    const { log, lines } = recorded();
    log.event('feed.failing', { reason: 'disk_full', seconds: 3, path: 'view', free: 0 });
    assert.equal(lines.length, 1);
    assert.deepEqual(JSON.parse(lines[0]!), {
      level: 'error',
      time: '2027-01-15T08:00:00.123Z',
      event: 'feed.failing',
      reason: 'disk_full',
      seconds: 3,
      path: 'view',
      free: 0,
      msg: EVENTS['feed.failing'].message,
    });
  });

  it('writes one line for people where it is told to', () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => lines.push(line) };
    const log = createLog({ clock: () => 1_800_000_000_123, stream, format: 'pretty' });
    log.event('feed.failing', { reason: 'source', seconds: 3, path: null, free: Number.NaN });
    log.event('store.failing', {}, Object.assign(new TypeError(TOKEN), { code: 'ECONNREFUSED' }));
    assert.equal(
      lines[0],
      `08:00:00.123 ERROR ${EVENTS['feed.failing'].message} (event=feed.failing reason=source seconds=3 path=null free=null)\n`,
    );
    assert.match(
      lines[1] ?? '',
      /^08:00:00\.123 ERROR the database .* error=\{"class":"TypeError","code":"ECONN/,
    );
    assert.equal(lines.join('').includes(TOKEN), false);
  });

  it('tells what was thrown without its words', () => {
    const { log, lines } = recorded();
    log.event('store.failing', {}, Object.assign(new TypeError(TOKEN), { code: 'ECONNREFUSED' }));
    const { error } = JSON.parse(lines[0]!);
    assert.equal(error.class, 'TypeError');
    assert.equal(error.code, 'ECONNREFUSED');
    assert.match(error.at[0], /^src\/ops\/telemetry\/log\.test\.ts:\d+$/);
    assert.equal(lines[0]!.includes(TOKEN), false);
  });

  it('holds the request ids that this server made, and no other text as one', () => {
    const { log, lines } = recorded();
    const id = '0c9b1f6e-5d5e-4c3c-9a57-0d6f9b3a7e11';
    for (const request of [id, null, `${id}0`, id.toUpperCase(), 'of-a-client', TOKEN]) {
      log.event('request.failed', { request });
    }
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).request),
      [id, null, null, null, null, null],
    );
  });

  it('names variables and versions, and nothing that does not look like one', () => {
    const { log, lines } = recorded();
    for (const variable of ['UQRP_DATADIR', 'UQRP_', `UQRP_${'A'.repeat(41)}`, 'HOME', TOKEN]) {
      log.event('config.unknown', { variable });
    }
    for (const version of ['0.2.0+g3ad8411', '1.2.3-rc.1', TOKEN]) {
      log.event('server.started', { version, role: 'all', workers: 1, seconds: 1 });
    }
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ variable, version }) => variable ?? version ?? null),
      ['UQRP_DATADIR', null, null, null, null, '0.2.0+g3ad8411', '1.2.3-rc.1', null],
    );
  });

  it('has no type that a name fits in', () => {
    const { log, lines } = recorded();
    const name: string = TOKEN;
    // @ts-expect-error an event is a member of the table
    log.event(name, {});
    // @ts-expect-error a number field takes no text
    log.event('feed.failing', { reason: 'source', seconds: name });
    // @ts-expect-error a field of a closed set takes no other text
    log.event('feed.state', { state: name, seq: 1 });
    // @ts-expect-error there are no fields but the table's
    log.event('feed.failing', { reason: 'source', seconds: 1, name });
    // @ts-expect-error all fields of the table are there
    log.event('feed.state', { seq: 1 });
    // And where types were overruled, the table still decides.
    assert.deepEqual(
      lines
        .map((line) => JSON.parse(line))
        .map(({ event, seconds, state, seq }) => [event, seconds, state, seq]),
      [
        ['feed.failing', null, undefined, undefined],
        ['feed.state', undefined, null, 1],
        ['feed.failing', 1, undefined, undefined],
        ['feed.state', undefined, null, 1],
      ],
    );
    assert.equal(lines.join('').includes(TOKEN), false);
  });

  it('takes no query token for the name of a node', () => {
    const { log, lines } = recorded();
    log.event('feed.node_flooding', { node: TOKEN });
    log.event('feed.node_flooding', { node: 'fra1' });
    assert.equal(lines.join('').includes(TOKEN), false);
    assert.equal(lines[1]!.includes('fra1'), true);
  });

  it('lets no text through, whatever is handed in as fields and error', () => {
    const names = Object.keys(EVENTS) as EventName[];
    const fieldNames = [...new Set(names.flatMap((name) => Object.keys(EVENTS[name].fields)))];
    const hostile = fc.constantFrom<unknown>(
      TOKEN,
      [TOKEN],
      { toString: () => TOKEN },
      { toJSON: () => TOKEN },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.dictionary(fc.constantFrom(...fieldNames, TOKEN), hostile),
        hostile,
        (name, fields, error) => {
          const { log, lines } = recorded();
          log.event(name, fields as never, error);
          assert.equal(lines.length, 1);
          assert.equal(lines[0]!.includes(TOKEN), false);
        },
      ),
    );
  });

  it('has only events that docs/operations/events.md lists', () => {
    const page = readFileSync(new URL('../../../docs/operations/events.md', import.meta.url), 'utf8');
    const listed = [...page.matchAll(/^\| `([a-z_]+\.[a-z_]+)` \| (info|warn|error) \|/gm)].map(
      ([, n, l]) => [n, l],
    );
    assert.deepEqual(
      listed,
      Object.entries(EVENTS).map(([name, row]) => [name, row.level]),
    );
  });
});

/** Errors that carry a token wherever an error can carry anything. */
const HOSTILE: Readonly<Record<string, () => unknown>> = {
  'message, name, code and properties': () =>
    Object.assign(new Error(TOKEN, { cause: new Error(TOKEN) }), {
      name: TOKEN,
      code: TOKEN,
      path: TOKEN,
      [TOKEN]: 1,
    }),
  'a code in capitals': () => Object.assign(new Error(), { code: TOKEN.toUpperCase() }),
  'a class made at run time': () => new ({ [TOKEN]: class extends Error {} })[TOKEN]!(),
  'a message that looks like a stack': () =>
    new Error(`\n    at ${TOKEN} (file:///app/src/${TOKEN}.ts:1:1)\n    at src/${TOKEN}.ts:1:1`),
  'a stack of its own': () =>
    Object.assign(new Error(), {
      stack: `    at x (/src/core/../${TOKEN}/../../src/core/limits.ts:1:1)\n    at ${TOKEN} (/src/${TOKEN}:1:1)`,
    }),
  'a stack that is no text': () => Object.assign(new Error(), { stack: [TOKEN] }),
  'getters that throw': () =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        ['constructor', 'code', 'stack', 'cause', 'errcode'].map((name) => [
          name,
          {
            get() {
              throw new Error(TOKEN);
            },
          },
        ]),
      ),
    ),
  'a proxy that throws': () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error(TOKEN);
        },
        getPrototypeOf() {
          throw new Error(TOKEN);
        },
      },
    ),
  'a text': () => TOKEN,
  'an error that is its own cause': () => {
    const error = new Error(TOKEN);
    error.cause = error;
    return error;
  },
  nothing: () => null,
};

describe('describeError', () => {
  for (const [what, make] of Object.entries(HOSTILE)) {
    it(`tells nothing of ${what}`, () => {
      const told = JSON.stringify(describeError(make()));
      assert.equal(told.toLowerCase().includes(TOKEN), false, told);
    });
  }

  it('names places of our own source only, innermost first', () => {
    const error = new Error('x');
    error.stack = [
      'Error: x',
      '    at inner (file:///srv/app/src/base/limits.ts:3:7)',
      '    at fastify (/srv/app/node_modules/fastify/lib/reply.js:10:1)',
      '    at async file:///srv/app/src/protocol/names/labels.ts:12:1',
      '    at new Thing (/srv/app/src/core/absent.ts:1:1)',
    ].join('\n');
    assert.deepEqual(describeError(error).at, ['src/base/limits.ts:3', 'src/protocol/names/labels.ts:12']);
  });

  it('keeps codes of the form that systems use', () => {
    const codes: readonly [unknown, string | undefined][] = [
      ['ENOENT', 'ENOENT'],
      ['40P01', '40P01'],
      ['A'.repeat(40), 'A'.repeat(40)],
      ['A'.repeat(41), undefined],
      ['enoent', undefined],
      ['E A', undefined],
      [5, undefined],
    ];
    for (const [code, told] of codes) {
      assert.equal(describeError(Object.assign(new Error(), { code })).code, told);
    }
    assert.equal(describeError(Object.assign(new Error(), { errcode: 5 })).errcode, 5);
  });

  it('follows causes three deep', () => {
    let error = new Error('0');
    for (let depth = 1; depth < 9; depth++) error = new RangeError('x', { cause: error });
    const told = JSON.stringify(describeError(error));
    assert.equal(told.match(/"class"/g)?.length, 4);
  });
});
