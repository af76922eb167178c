import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allServices } from '../../../../test/support/services/all-services.ts';
import { filledName, personText, typedLabel } from './typed-label.ts';

describe('what a person types for a service', () => {
  it('becomes the label that the name needs', () => {
    for (const [service, placeholder, text, label] of [
      ['units', 'value', '-40', 'n40'],
      ['units', 'value', '98.6', '98d6'],
      ['units', 'value', '1,000', '1000'],
      ['weather', 'location', 'New York', 'new-york'],
      ['weather', 'location', '40.71, -74.01', '40d71_-74d01'],
      ['weather', 'location', '-33.87 151.21', '-33d87_151d21'],
      ['time', 'location', 'Europe/Berlin', 'europe-berlin'],
      ['time', 'location', 'Etc/GMT+5', 'etc-gmt-plus-5'],
      ['sun', 'location', '2026-06-21 Tokyo', '2026-06-21.tokyo'],
      ['sun', 'location', '2026-06-21.london', '2026-06-21.london'],
      ['cidr', 'network', '10.0.0.0/8', '10-0-0-0-8'],
      ['cidr', 'network', '2001:db8::/32', '2001-db8--0-32'],
      ['cidr', 'network', '10.1.2.3 10.0.0.0/8', '10-1-2-3.10-0-0-0-8'],
      ['cidr', 'network', '10-1-2-3.10-0-0-0-8', '10-1-2-3.10-0-0-0-8'],
      ['geoip', 'address', '8.8.8.8', '8-8-8-8'],
      ['geoip', 'address', '::1', '0--1'],
      ['dice', 'dice', '2d6 + 1', '2d6p1'],
      ['dice', 'dice', '4d6-2', '4d6n2'],
      ['epoch', 'instant', '2026-01-01T12:30:00Z', '2026-01-01t12-30-00z'],
      ['epoch', 'instant', '-1', 'n1'],
      ['random', 'min', '-5', 'n5'],
      ['stock', 'ticker', 'BRK-B', 'brk-b'],
    ] as const)
      assert.equal(typedLabel(service, placeholder, text), label, text);
  });

  it('in other scripts is encoded', () => {
    assert.match(typedLabel('weather', 'location', 'Tromsø'), /^b32-[a-z2-7]+$/);
  });

  it('is a name with or without the parts that may be left out', () => {
    const base = 'get.{number}-{from}-to-{to}.base.public.v1.uqrp.net';
    assert.equal(
      filledName(base, { number: '255', from: '', to: 'hex' }),
      'get.255-to-hex.base.public.v1.uqrp.net',
    );
    assert.equal(
      filledName('get.{count}.coin.public.v1.uqrp.net', { count: '' }),
      'get.coin.public.v1.uqrp.net',
    );
    assert.equal(
      filledName('get.{sym}-{quote}.crypto.public.v1.uqrp.net', { sym: 'eth', quote: '' }),
      'get.eth.crypto.public.v1.uqrp.net',
    );
  });

  it('takes the examples of every service as they are', () => {
    for (const { resource, about } of allServices())
      for (const [placeholder, { examples }] of Object.entries(about.placeholders))
        for (const example of examples) assert.equal(typedLabel(resource, placeholder, example), example);
  });
});

it('an example is shown as a person writes it, and means the same name', () => {
  for (const [part, label, text] of [
    ['units.value', '98d6', '98.6'],
    ['units.value', 'n40', '-40'],
    ['base.number', 'ff', 'ff'],
    ['cidr.network', '10-0-0-0-8', '10.0.0.0/8'],
    // Typed as an address it would be another label of the same network.
    ['cidr.network', '2001-db8---32', '2001-db8---32'],
    ['cidr.network', '10-1-2-3.10-0-0-0-8', '10.1.2.3 10.0.0.0/8'],
    ['geoip.address', '2001-4860-4860--8888', '2001:4860:4860::8888'],
    ['time.location', 'america-new-york', 'America/New York'],
    ['time.location', 'utc', 'UTC'],
    ['sun.location', 'paris-tx', 'Paris TX'],
    ['sun.location', '2026-06-21.london', '2026-06-21 London'],
    ['aerial.to', '-33d87_151d21', '-33.87, 151.21'],
    ['dice.dice', '4d6n2', '4d6-2'],
    ['epoch.instant', '2026-01-01t12-30-00z', '2026-01-01T12:30:00Z'],
    ['epoch.instant', '1767225600123-ms', '1767225600123-ms'],
  ] as const) {
    const [service = '', id = ''] = part.split('.');
    assert.equal(personText(service, id, label), text, label);
    assert.equal(typedLabel(service, id, text), label, text);
  }
});
