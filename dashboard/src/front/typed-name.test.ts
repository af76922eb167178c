import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allServices } from '../../../test/support/services/all-services.ts';
import { typedName } from './typed-name.ts';

const ZONE = 'uqrp.net';

it('words mean the name of a service, in a form that the service understands', async () => {
  const services = new Map(allServices().map((service) => [service.resource, service]));
  for (const [text, name] of [
    ['weather in Paris', 'get.paris.weather'],
    ['Weather in São Paulo?', 'get.sao-paulo.weather'],
    ['London weather', 'get.london.weather'],
    ['forecast for New York', 'get.new-york.forecast'],
    ['time in Tokyo', 'get.tokyo.time'],
    ['What is the time in London?', 'get.london.time'],
    ['sunset in London', 'get.london.sun'],
    ['roll 2d6+1', 'get.2d6p1.dice'],
    ['d20', 'get.d20.dice'],
    ['4d6 - 2', 'get.4d6n2.dice'],
    ['5 miles in km', 'get.5-mi-to-km.units'],
    ['100 km → mi', 'get.100-km-to-mi.units'],
    ['1,000.5 feet to metres', 'get.1000d5-ft-to-m.units'],
    ['-40°C in Fahrenheit', 'get.n40-c-to-f.units'],
    ['10 inches to cm', 'get.10-in-to-cm.units'],
    ['EUR → USD', 'get.eur-usd.forex'],
    ['eur/usd', 'get.eur-usd.forex'],
    ['10.0.0.0/8', 'get.10-0-0-0-8.cidr'],
    ['8.8.8.8 is where?', 'geoip.ip-8-8-8-8'],
    ['2042 in words', 'get.2042.words'],
    ['moon', 'get.moon'],
  ] as const) {
    assert.equal(typedName(text, ZONE), `${name}.public.v1.${ZONE}`, text);
    const labels = name.split('.');
    const isGeoip = labels[0] === 'geoip';
    const service = services.get(isGeoip ? 'geoip' : labels.at(-1)!);
    assert.ok(service, text);
    const { kind } = await service.answer(labels.slice(1, isGeoip ? undefined : -1), Date.UTC(2026, 0, 1));
    assert.notEqual(kind, 'malformed', text);
  }
});

it('a name without its zone gets it, and any other text stays', () => {
  assert.equal(typedName('get.tokyo.time.public.v1', ZONE), 'get.tokyo.time.public.v1.uqrp.net');
  assert.equal(typedName(' get.Greeting.acme.v2. ', ZONE), 'get.Greeting.acme.v2.uqrp.net');
  assert.equal(typedName('get.tokyo.time', ZONE), 'get.tokyo.time.public.v1.uqrp.net');
  for (const text of [
    'get.tokyo.time.public.v1.uqrp.net',
    'get.uqrp.net',
    'google.com',
    'hello',
    'what is..the matter',
    'https://stripe.com',
    '1e9 km to',
    '',
  ])
    assert.equal(typedName(text, ZONE), text);
});
