import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeSelfSigned } from '../../edge/transport/self-signed.ts';
import { checkClock, checkDisk, checkNode, checkRights } from './machine.ts';
import { checkCertificate, checkDs } from './zone.ts';

const NOW = Date.UTC(2026, 0, 1);
const MB = 1_048_576;

describe('the checks of doctor', () => {
  it('compare the version of Node by numbers', () => {
    for (const [version, state] of [
      ['24.15.0', 'ok'],
      ['24.16.0', 'ok'],
      ['25.0.0', 'ok'],
      ['24.14.9', 'wrong'],
      ['9.99.99', 'wrong'],
    ] as const) {
      assert.equal(checkNode(version, '>=24.15.0').state, state, version);
    }
  });

  it('judge the free room of the disk', () => {
    for (const [free, state] of [
      [1024 * MB, 'ok'],
      [1024 * MB - 1, 'note'],
      [100 * MB, 'note'],
      [100 * MB - 1, 'wrong'],
    ] as const) {
      assert.equal(checkDisk(free).state, state, String(free));
    }
  });

  it('find a clock that is behind the files', () => {
    assert.equal(checkClock(NOW, null).state, 'ok');
    assert.equal(checkClock(NOW, NOW + 60_000).state, 'ok');
    assert.match(checkClock(NOW, NOW + 3_600_000).text, /^the clock is 3600 s behind/);
    assert.equal(checkClock(NOW, NOW + 3_600_000).state, 'wrong');
  });

  it('name what other users can reach', () => {
    assert.equal(checkRights([]).state, 'ok');
    assert.match(checkRights(['/data/view']).text, /reach \/data\/view\./);
  });

  it('judge the time of a certificate and show its names', () => {
    const day = 86_400_000;
    const { cert } = makeSelfSigned({ hosts: ['localhost'], now: NOW });
    const first = checkCertificate(cert, NOW + day);
    assert.equal(first.state, 'ok');
    assert.match(first.text, /DNS:localhost/);
    const [, days] = /valid for (\d+) days/.exec(first.text) ?? [];
    const end = NOW + day + Number(days) * day;
    assert.equal(checkCertificate(cert, end - 13 * day).state, 'note');
    assert.match(checkCertificate(cert, end + 2 * day).text, /^ended \d+ days ago/);
    assert.equal(checkCertificate(cert, end + 2 * day).state, 'wrong');
  });

  it('compare the DS records at the parent with our keys', () => {
    const own = ['12345 13 2 AB', '222 8 2 CD'];
    assert.equal(checkDs('uqrp.net', own, ['12345 13 2 ab', '9 9 2 00']).state, 'ok');
    assert.equal(checkDs('uqrp.net', own, ['9 9 2 00']).state, 'wrong');
    assert.equal(checkDs('uqrp.net', own, []).state, 'note');
    assert.equal(checkDs('uqrp.net', own, null).state, 'note');
  });
});
