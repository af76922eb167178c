import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../ops/config/config.ts';
import { checkOpenFiles, portFaultText, portUses, storeFault } from './start-checks.ts';

describe('the checks of a start', () => {
  it('look at every port of the role, by variable and protocol', () => {
    const shown = (env: Record<string, string>): string[] =>
      portUses(loadConfig(env)).map(
        ({ variable, host, port, protocol }) => `${variable} ${host} ${port}/${protocol}`,
      );
    const dns = [
      'UQRP_DNS_PORT 0.0.0.0 5300/udp',
      'UQRP_DNS_PORT 0.0.0.0 5300/tcp',
      'UQRP_DOT_PORT 0.0.0.0 8853/tcp',
      'UQRP_DOH_PORT 0.0.0.0 8443/tcp',
    ];
    const env = { UQRP_HOST: '0.0.0.0', UQRP_HTTP_HOST: '::1', UQRP_METRICS: '127.0.0.1:9100' };
    const http = ['UQRP_HTTP_PORT ::1 8080/tcp', 'UQRP_METRICS 127.0.0.1 9100/tcp'];
    assert.deepEqual(shown(env), [...http, ...dns]);
    assert.deepEqual(shown({ ...env, UQRP_ROLE: 'control' }), http);
  });

  it('name variable, port, protocol and process', () => {
    const use = { variable: 'UQRP_DNS_PORT', host: '127.0.0.1', port: 5300, protocol: 'udp' } as const;
    const textOf = (code: string, pid: number | null = null) => portFaultText({ use, code }, pid);
    assert.equal(
      textOf('EADDRINUSE', 4711),
      'UQRP_DNS_PORT 5300/udp is in use by process 4711. Stop it, or set UQRP_DNS_PORT to another port.',
    );
    assert.match(textOf('EADDRINUSE'), /in use by another process/);
    assert.match(textOf('EACCES'), /CAP_NET_BIND_SERVICE/);
    assert.match(textOf('EADDRNOTAVAIL'), /no address 127\.0\.0\.1/);
    assert.match(textOf('EMFILE'), /ulimit -n/);
  });

  it('name the database file and what to do', () => {
    const sqlite = { dataDir: '/data', databaseUrl: null };
    const textOf = (errcode: number) => storeFault({ errcode, code: 'ERR_SQLITE_ERROR' }, sqlite)?.message;
    assert.equal(textOf(26), 'The database /data/uqrp.sqlite is not a database. Restore a backup.');
    assert.equal(textOf(11 | (1 << 8)), 'The database /data/uqrp.sqlite is damaged. Restore a backup.');
    assert.match(textOf(13) ?? '', /disk is full/);
    assert.equal(storeFault(new TypeError('ours'), sqlite), null);
    const postgres = { dataDir: '/data', databaseUrl: 'postgres://u:hush@h/d' };
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    assert.equal(storeFault(refused, postgres)?.message, 'UQRP_DATABASE_URL: ECONNREFUSED');
  });

  it('stop a start with fewer files than the workers need', () => {
    assert.doesNotThrow(() => checkOpenFiles(1));
    assert.throws(() => checkOpenFiles(10_000_000), /may open \d+ files.*ulimit -n/);
  });
});
