import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeSelfSigned } from '../../base/certificates.ts';
import type { Config } from '../../ops/config/config.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import { openCertificate } from './edge-certificate.ts';

const DAY_MS = 86_400_000;

test('a certificate that ends within 14 days is warned about at the start and when it is loaded again', async (context) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-certificate-'));
  context.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const files = { cert: join(dataDir, 'cert.pem'), key: join(dataDir, 'key.pem') };
  const pair = makeSelfSigned({ hosts: ['localhost'], now: Date.UTC(2026, 0, 1) });
  writeFileSync(files.cert, pair.cert);
  writeFileSync(files.key, pair.key);
  const end = new X509Certificate(pair.cert).validToDate.getTime();
  const eventsAt = async (daysLeft: number): Promise<readonly unknown[]> => {
    const events: unknown[] = [];
    const log = { event: (name: string, fields: unknown) => events.push([name, fields]) } as unknown as Log;
    const config = { dataDir, host: '::', tls: files } as Config;
    const certificate = openCertificate(config, () => end - daysLeft * DAY_MS, log);
    await certificate.reload(async () => {});
    await certificate.stop();
    return events;
  };
  const loaded = (days: number) => ['tls.loaded', { origin: 'operator', days }];
  assert.deepEqual(await eventsAt(14), [loaded(14), loaded(14)]);
  const expiring = ['tls.expiring', { days: 13 }];
  assert.deepEqual(await eventsAt(13), [loaded(13), expiring, loaded(13), expiring]);
});
