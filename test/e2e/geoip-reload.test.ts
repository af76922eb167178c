import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { GEOIP_FILE, geoipPaths } from '../../src/services/geoip-files.ts';
import { type Observed, observe } from '../support/observed.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { askSigned, type DnsKeys, servedKeys } from '../support/signed-answers.ts';
import { eventually } from './client.ts';

const PATIENCE_MS = 30_000;
/** Milliseconds between two checks of the file. */
const LOOK_MS = 1000;
const ADDRESS = 'ip-2001-4860-4860--8888';
const [, inTheBox] = geoipPaths('', null);
/** Contains no IPv6 address. */
const ipv4Only = join(dirname(inTheBox ?? ''), 'geo-whois-asn-country-ipv4.mmdb');

describe('the database of addresses of a server under queries', {
  skip: !existsSync(ipv4Only) && 'the database is an optional package',
}, () => {
  let server: Uqrp;
  let observed: Observed;
  let keys: DnsKeys;

  before(async () => {
    server = await startUqrp({ UQRP_WORKERS: '2' });
    observed = observe(server);
    keys = await servedKeys(server.ports.dns);
  });
  after(async () => {
    observed.end();
    await server.remove();
  });

  /** The answer's text, after its signatures are verified. */
  async function told(): Promise<'known' | 'unknown'> {
    const name = `geoip.${ADDRESS}.public.v1`;
    const { by, records } = await askSigned(server.ports.dns, name, RRTYPE.TXT, [keys]);
    assert.deepEqual([by, records.length], [[0], 1]);
    const text = Buffer.from(records[0]!, 'hex').toString('latin1');
    assert.match(text, /;cc=US;|code=E004/);
    return text.includes('cc=US') ? 'known' : 'unknown';
  }

  /** Replaces the file by a rename, as `geoip update` does. */
  function take(path: string): void {
    const target = join(server.dataDir, GEOIP_FILE);
    copyFileSync(path, `${target}.draft`);
    renameSync(`${target}.draft`, target);
  }

  async function untilAll(expected: 'known' | 'unknown'): Promise<void> {
    await eventually(async () => {
      // Many queries, so that each worker gets some.
      for (let i = 0; i < 8; i++) if ((await told()) !== expected) return false;
      return true;
    }, PATIENCE_MS);
  }

  it('is exchanged: every answer is signed, and is that of the one or of the other', async () => {
    let isDone = false;
    const client = async (): Promise<void> => {
      while (!isDone) await told();
    };
    const load = Promise.all([client(), client()]);
    const steps = async (): Promise<void> => {
      await untilAll('known');
      take(ipv4Only);
      await untilAll('unknown');
      take(inTheBox!);
      await untilAll('known');
    };
    try {
      await Promise.race([load, steps()]);
    } finally {
      isDone = true;
    }
    await load;
    await observed.check([ADDRESS, '2001:4860']);
  });

  it('stays in use while the new file is damaged, and the next good one is taken', async () => {
    take(inTheBox!);
    await untilAll('known');
    const damaged = join(server.dataDir, 'damaged');
    writeFileSync(damaged, 'walrus');
    take(damaged);
    // At least two checks.
    for (const end = Date.now() + 2 * LOOK_MS; Date.now() < end; ) assert.equal(await told(), 'known');
    take(ipv4Only);
    await untilAll('unknown');
    await observed.check([ADDRESS, '2001:4860', 'walrus']);
  });
});
