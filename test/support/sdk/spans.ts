import assert from 'node:assert/strict';
import type { DnsMessage } from '../../../sdk/src/dns/message/message.ts';

/** The spans follow each other from the first octet to the last. */
export function assertTiled({ spans, octets: all }: DnsMessage): void {
  let at = 0;
  for (const span of spans) {
    assert.equal(span.from, at);
    assert.ok(span.to > span.from);
    at = span.to;
  }
  assert.equal(at, all.length);
}
