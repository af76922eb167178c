import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deviceName, newName } from './device-name.ts';

const LINUX =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';

describe('names of passkeys', () => {
  it('say browser and system', () => {
    assert.equal(deviceName(LINUX), 'Chrome on Linux');
    assert.equal(deviceName(`${LINUX} Edg/156.0`), 'Edge on Linux');
    assert.equal(
      deviceName('Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0'),
      'Firefox on Android',
    );
    assert.equal(
      deviceName(
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1',
      ),
      'Safari on iPhone',
    );
    assert.equal(deviceName('something else'), 'Passkey');
  });

  it('are told apart by a number', () => {
    assert.equal(newName('Chrome on Linux', []), 'Chrome on Linux');
    assert.equal(newName('Chrome on Linux', ['Chrome on Linux', 'Chrome on Linux 2']), 'Chrome on Linux 3');
  });
});
