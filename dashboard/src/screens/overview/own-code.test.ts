import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { ownCode } from './own-code.ts';
import { SAMPLES } from './samples.ts';

const META = {
  zones: ['uqrp.net'],
  endpoints: { dns: { host: 'dns.example', port: 5300 }, doh: null },
} as unknown as Meta;

function codeOf(id: string, isOpen: boolean): string {
  return ownCode('greeting.acme.v1', META, isOpen).find((one) => one.id === id)?.code ?? '';
}

/** Runs the code with a `dig` that prints its arguments to standard error, and an answer. */
function shell(code: string, answer: string): string {
  const dig = `dig() { printf '%s\\n' '${answer}'; }\n`;
  return execFileSync('sh', ['-c', dig + code], { encoding: 'utf8' });
}

describe('the record in a program of one\u2019s own', () => {
  it('has its key, this server and a place for the token in every language', () => {
    for (const id of ['shell', 'python', 'c']) {
      const code = codeOf(id, false);
      for (const part of ['greeting', 'acme', 'v1', 'dns.example', '5300', 'TOKEN'])
        assert.ok(code.includes(part), `${id}: ${part}`);
      assert.doesNotMatch(codeOf(id, true), /TOKEN/, id);
    }
  });

  it('is a shell script that prints plain text and Base64, also in several strings', () => {
    const code = codeOf('shell', true);
    assert.match(code, /dig \+short @dns\.example -p 5300 TXT get\.greeting\.acme\.v1\.uqrp\.net/);
    assert.equal(shell(code, '"v=svc1;s=ok;t=data;e=plain;f=text;ttl=300;d=a;d=b"'), 'a;d=b\n');
    assert.equal(shell(code, '"v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=SGVs" "bG8="'), 'Hello');
  });
});

describe('sample data', () => {
  it('are twelve records with keys that a namespace can hold', () => {
    assert.equal(Object.keys(SAMPLES).length, 12);
    for (const key of Object.keys(SAMPLES)) assert.match(key, /^([a-z0-9-]+\.)?[a-z0-9-]+$/);
  });
});
