import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type DataMode,
  type Draft,
  draftOf,
  newDraft,
  readDraft,
  withFile,
  withMode,
  withWholeKey,
} from './record-draft.ts';
import { textToBase64 } from './record-rules.ts';

const LIMITS = { key: 178, data: 2586, contentType: 127, ttl: 2_147_483_647 };
const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const good: Draft = { ...newDraft('acme', 300), key: 'a.acme.v1', text: 'hello' };

function reasons(draft: Draft): readonly string[] {
  return readDraft(draft, LIMITS, NOW).faults.map(({ reason }) => reason);
}

describe('the form of a record', () => {
  it('completes a key by the namespace, and leaves one that is whole', () => {
    for (const [typed, whole] of [
      ['', ''],
      ['greeting', 'greeting.acme.v1'],
      ['sku-1.price', 'sku-1.price.acme.v1'],
      ['sku-1.price.acme', 'sku-1.price.acme.v1'],
      ['sku-1.price.acme.v1', 'sku-1.price.acme.v1'],
      ['sku-1.price.other.V2', 'sku-1.price.other.V2'],
      // Somebody is not done yet.
      ['sku-1.', 'sku-1.'],
    ] as const)
      assert.equal(withWholeKey({ ...newDraft('acme', 300), key: typed }).key, whole);
    assert.equal(withWholeKey({ ...newDraft('', 300), key: 'greeting' }).key, 'greeting');
  });

  it('saves text', () => {
    assert.deepEqual(readDraft(good, LIMITS, NOW).fields, {
      data: 'aGVsbG8=',
      content_type: 'text/plain',
      encoding: 'b64',
      ttl_seconds: 300,
      expires_at: null,
    });
  });

  it('takes data up to the limit and no octet more', () => {
    assert.deepEqual(reasons({ ...good, text: 'ä'.repeat(1293) }), []);
    assert.deepEqual(reasons({ ...good, text: `${'ä'.repeat(1293)}x` }), ['data_long']);
  });

  it('names every fault at once', () => {
    const bad = {
      ...good,
      key: 'a',
      mode: 'json',
      text: '{',
      contentType: 'x',
      ttl: '-1',
      expiry: 'at',
      at: '',
    } as const;
    assert.deepEqual(reasons({ ...bad }), [
      'key_parts',
      'data_json',
      'type_form',
      'ttl_range',
      'expiry_form',
    ]);
    assert.deepEqual(reasons({ ...good, mode: 'base64', text: 'YQ' }), ['data_base64']);
  });

  it('turns a lifetime into a time, and refuses the past', () => {
    const later = readDraft({ ...good, expiry: 'in', amount: '3', unit: 'hours' }, LIMITS, NOW);
    assert.equal(later.fields.expires_at, '2026-11-22T15:00:00.000Z');
    assert.deepEqual(reasons({ ...good, expiry: 'in', amount: '0' }), ['expiry_form']);
    assert.deepEqual(reasons({ ...good, expiry: 'at', at: '2020-01-01T00:00' }), ['expiry_past']);
  });

  it('keeps the octets when the mode changes', () => {
    const inMode = (draft: Draft, mode: DataMode): Draft => {
      const next = withMode(draft, mode);
      return typeof next === 'string' ? assert.fail(`${mode}: ${next}`) : next;
    };
    const asBase64 = inMode(good, 'base64');
    assert.equal(asBase64.text, 'aGVsbG8=');
    assert.equal(asBase64.contentType, 'application/octet-stream');
    assert.equal(inMode(asBase64, 'text').text, 'hello');
    const json = inMode({ ...good, text: '{"a":1}' }, 'json');
    assert.equal(json.text, '{\n  "a": 1\n}');
    assert.equal(json.contentType, 'application/json');
    assert.equal(inMode({ ...good, contentType: 'text/csv' }, 'base64').contentType, 'text/csv');
    const file = withFile(good, 'x.png', Uint8Array.of(0xff), 'image/png');
    assert.deepEqual([file.isFile, file.contentType], [true, 'image/png']);
    assert.equal(inMode(file, 'base64').text, '/w==');
    assert.equal(inMode(file, 'text').text, 'hello');
  });

  it('loses nothing to a look at another mode: File without a file, or Text for what is no text', () => {
    const looking = withMode(good, 'file') as Draft;
    assert.equal(readDraft(looking, LIMITS, NOW).fields.data, 'aGVsbG8=');
    assert.deepEqual(withMode(looking, 'text'), good);
    const binary: Draft = { ...good, mode: 'base64', text: '//4BAg==' };
    for (const mode of ['text', 'json'] as const) assert.equal(withMode(binary, mode), 'data_no_text', mode);
    const chosen = withFile(binary, 'x.png', Uint8Array.of(0xff), 'image/png');
    assert.equal(withMode(chosen, 'text'), 'data_no_text');
    assert.equal(readDraft(chosen, LIMITS, NOW).fields.data, '/w==');
    const mixed: Draft = { ...binary, text: textToBase64('a\r\nb\n') };
    assert.equal(withMode(mixed, 'text'), 'data_no_text');
    const half: Draft = { ...binary, text: 'aGVsbG8' };
    assert.equal(withMode(half, 'text'), 'data_base64');
    const back = withMode(withMode(half, 'file') as Draft, 'base64') as Draft;
    assert.equal(back.text, 'aGVsbG8');
  });

  it('saves a stored record as it is', () => {
    const stored = {
      key: 'a.acme.v1',
      data: textToBase64('{"a": 1}'),
      content_type: 'application/json',
      encoding: 'b64',
      ttl_seconds: 60,
      expires_at: '2030-01-01T00:00:00.123Z',
    } as const;
    const { key, ...fields } = stored;
    assert.equal(draftOf(stored).mode, 'json');
    assert.deepEqual(readDraft(draftOf(stored), LIMITS, NOW).fields, fields);
    const binary = { ...stored, key, data: '/w==', expires_at: null };
    assert.equal(draftOf(binary).mode, 'base64');
    assert.equal(readDraft(draftOf(binary), LIMITS, NOW).fields.data, '/w==');
  });

  it('takes plain text without line ends, and keeps it in plain text', () => {
    const rest = {
      content_type: 'text/plain',
      encoding: 'plain',
      ttl_seconds: 60,
      expires_at: null,
    } as const;
    const draft = draftOf({ key: 'a.acme.v1', data: textToBase64('a;d=ü'), ...rest });
    const read = readDraft(draft, LIMITS, NOW);
    assert.deepEqual([draft.text, read.faults, read.fields.encoding], ['a;d=ü', [], 'plain']);
    assert.deepEqual(reasons({ ...good, encoding: 'plain', text: 'a\n' }), ['data_plain']);
    assert.deepEqual(reasons({ ...good, encoding: 'plain', mode: 'base64', text: '/w==' }), ['data_plain']);
    assert.deepEqual(reasons({ ...good, text: 'a\n' }), []);
    const sealed = {
      ...good,
      encoding: 'plain',
      text: 'a\n',
      seal: async (_: string, of: typeof read) => of,
    } as const;
    assert.equal(readDraft(sealed, LIMITS, NOW).fields.encoding, 'b64');
    assert.deepEqual(reasons(sealed), []);
  });

  it('keeps CRLF ends of lines, which a text area turns into LF, and opens mixed ones as Base64', () => {
    const rest = { content_type: 'text/plain', encoding: 'b64', ttl_seconds: 60, expires_at: null } as const;
    const stored = { key: 'a.acme.v1', ...rest };
    const draft = draftOf({ ...stored, data: textToBase64('a\r\nb\r\n') });
    assert.deepEqual([draft.mode, draft.text], ['text', 'a\nb\n']);
    const data = (changed: typeof draft): string => readDraft(changed, LIMITS, NOW).fields.data;
    assert.equal(data(draft), textToBase64('a\r\nb\r\n'));
    assert.equal(data({ ...draft, text: 'a\nc' }), textToBase64('a\r\nc'));
    assert.equal(
      data(withMode(withMode(draft, 'base64') as Draft, 'text') as Draft),
      textToBase64('a\r\nb\r\n'),
    );
    for (const mixed of ['a\r\nb\n', 'a\rb', '\n\r\n', 'a\r\r\n']) {
      const as = draftOf({ ...stored, data: textToBase64(mixed) });
      assert.deepEqual([as.mode, data(as)], ['base64', textToBase64(mixed)]);
    }
  });

  it('shows and keeps the last time that a record takes, which is in the year 10000 east of UTC', () => {
    const zone = process.env.TZ;
    try {
      for (const [name, shown] of [
        ['UTC', '9999-12-31T23:59:59.000'],
        ['America/New_York', '9999-12-31T18:59:59.000'],
        ['Europe/Berlin', '10000-01-01T00:59:59.000'],
        ['Asia/Tokyo', '10000-01-01T08:59:59.000'],
      ] as const) {
        process.env.TZ = name;
        const expires_at = '9999-12-31T23:59:59Z';
        const type = { content_type: 'text/plain', encoding: 'b64' } as const;
        const draft = draftOf({ key: 'a.acme.v1', data: 'YQ==', ...type, ttl_seconds: 60, expires_at });
        assert.equal(draft.at, shown);
        for (const at of [shown, shown.slice(0, -4)]) {
          const read = readDraft({ ...draft, text: 'b', at }, LIMITS, NOW);
          assert.deepEqual([read.faults, read.fields.expires_at], [[], expires_at], name);
        }
        assert.deepEqual(reasons({ ...draft, at: '10000-01-02T12:00' }), ['expiry_form']);
      }
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('keeps an expiry that nobody changed, also in the hour that autumn repeats', () => {
    const zone = process.env.TZ;
    process.env.TZ = 'Europe/Berlin';
    try {
      const now = Date.parse('2026-10-01T00:00:00Z');
      const type = { content_type: 'text/plain', encoding: 'b64' } as const;
      const rest = { key: 'a.acme.v1', data: 'YQ==', ...type, ttl_seconds: 60 };
      for (const expires_at of ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z']) {
        const draft = draftOf({ ...rest, expires_at });
        assert.equal(readDraft(draft, LIMITS, now).fields.expires_at, expires_at);
        const moved = readDraft({ ...draft, at: '2026-10-26T12:00' }, LIMITS, now);
        assert.equal(moved.fields.expires_at, '2026-10-26T11:00:00.000Z');
      }
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });
});
