import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { pinnedRequest, Resolve } from './connection.ts';
import { createOutboundClient } from './outbound-client.ts';
import type { OutboundResult } from './request.ts';
import { isPublicAddress, parseWebhookUrl, URL_FAULTS, WEBHOOK_TARGETS, webhookUrlFault } from './target.ts';
import { checkWebhookUrl } from './url-check.ts';

/** Every row of test/fixtures/hostile-urls.tsv, at registration and at delivery, without a network. */

const REGISTRATION = {
  ok: null,
  long: URL_FAULTS.tooLong,
  malformed: URL_FAULTS.malformed,
  https: URL_FAULTS.notHttps,
  prefix: URL_FAULTS.prefix,
  credentials: URL_FAULTS.credentials,
  fragment: URL_FAULTS.fragment,
  port: URL_FAULTS.port,
  host: URL_FAULTS.host,
} as const;

interface Row {
  readonly url: string;
  readonly registration: keyof typeof REGISTRATION;
  readonly delivery: string;
}

function table(name: string): string[][] {
  const text = readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.split('\t'));
}

const ROWS: readonly Row[] = table('hostile-urls.tsv').map(
  ([url = '', registration = '', delivery = '']) => ({
    url: JSON.parse(`"${url}"`) as string,
    registration: registration as Row['registration'],
    delivery,
  }),
);

const words = (text: string): string[] => (text === '-' ? [] : text.split(' '));
const ANSWERS = new Map(
  table('hostile-urls.dns.tsv').map(([name = '', first = '-', later = first]) => [
    name,
    [words(first), words(later)] as const,
  ]),
);

/** Answers from the table: the first lookup of a name differs from the later ones where the table says so. */
function tableResolve(): { resolve: Resolve; looked: string[] } {
  const looked: string[] = [];
  return {
    looked,
    resolve: async (host) => {
      const name = host.toLowerCase().replace(/\.$/, '');
      const answers = ANSWERS.get(name)?.[looked.includes(name) ? 1 : 0] ?? [];
      looked.push(name);
      return answers;
    },
  };
}

/** Answers in place of a network: the status in the path, else 200. Records the addresses it would connect to. */
function recorder(): { dial: typeof pinnedRequest; dialled: string[] } {
  const dialled: string[] = [];
  return {
    dialled,
    dial: async ({ url }, { address }) => {
      dialled.push(address);
      const status = Number(/^\/(\d{3})$/.exec(url.pathname)?.[1] ?? 200);
      const headers = { location: 'https://169.254.169.254/' };
      return { result: { kind: 'response', status, headers, body: Buffer.alloc(0) }, wasConnected: true };
    },
  };
}

const wordOf = (result: OutboundResult): string =>
  result.kind === 'failed' ? result.fault : String(result.status);

describe('hostile URLs', () => {
  it('are many', () => {
    const good = ROWS.filter(({ registration, delivery }) => registration === 'ok' && delivery === '200');
    assert.ok(ROWS.length >= 230, `${ROWS.length} rows`);
    assert.ok(good.length >= 40, `${good.length} good rows`);
    assert.equal(new Set(ROWS.map(({ url }) => url)).size, ROWS.length, 'a row twice');
    for (const { url, registration } of ROWS) assert.ok(registration in REGISTRATION, url);
  });

  it('are refused at registration and at delivery as the table says', async () => {
    const { signal } = new AbortController();
    for (const { url: text, registration, delivery } of ROWS) {
      const label = JSON.stringify(text);
      const { resolve, looked } = tableResolve();
      assert.equal(await checkWebhookUrl(text, resolve, signal), REGISTRATION[registration], label);
      assert.ok(looked.length <= 1, label);

      const { dial, dialled } = recorder();
      const client = createOutboundClient({ policy: WEBHOOK_TARGETS, resolve, deadlineMs: 5000, dial });
      const url = parseWebhookUrl(text);
      const lookedBefore = looked.length;
      const result =
        url === null
          ? 'blocked_address'
          : wordOf(await client({ method: 'POST', url, headers: {}, maxBytes: 0 }));
      assert.equal(result, delivery, label);
      assert.ok(looked.length - lookedBefore <= 1, `${label} is looked up more than once`);
      assert.equal(dialled.length, /^\d/.test(delivery) ? 1 : 0, `${label} dials ${dialled.join(' ')}`);
      assert.ok(dialled.every(isPublicAddress), label);
    }
  });

  it('lead to public addresses alone even where a lenient parser was asked first', async () => {
    for (const { url: text } of ROWS) {
      const url = URL.parse(text);
      if (url === null) continue;
      const { dial, dialled } = recorder();
      const { resolve, looked } = tableResolve();
      const client = createOutboundClient({ policy: WEBHOOK_TARGETS, resolve, deadlineMs: 5000, dial });
      const result = await client({ method: 'POST', url, headers: {}, maxBytes: 0 });
      if (webhookUrlFault(url.href) !== null) {
        assert.deepEqual([wordOf(result), looked], ['blocked_address', []], JSON.stringify(text));
      }
      assert.ok(dialled.every(isPublicAddress), JSON.stringify(text));
      assert.equal(dialled.length > 0, result.kind === 'response', JSON.stringify(text));
    }
  });
});
