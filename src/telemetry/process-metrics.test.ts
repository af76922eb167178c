import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics } from './metrics.ts';

describe('metrics of the process', () => {
  it('tell the versions, and when the certificate in use ends', async () => {
    let end: number | null = 1_800_000_000_999;
    const metrics = createMetrics({
      edgeStats: null,
      feedLag: () => null,
      version: '1.2.3',
      certificateEnd: () => end,
      process: false,
    });
    const text = await metrics.text();
    assert.ok(text.includes(`uqrp_build_info{version="1.2.3",node="${process.versions.node}"} 1\n`), text);
    assert.match(text, /^uqrp_tls_certificate_expiry_timestamp_seconds 1800000000$/m);
    end = null;
    assert.doesNotMatch(await metrics.text(), /^uqrp_tls_certificate_expiry_timestamp_seconds \d/m);
  });
});
