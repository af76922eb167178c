import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, codeOf, NOW } from '../../test/support/services/check-service.ts';
import { AERIAL_ABOUT, bearing, distanceKm, EARTH_KM, makeAerial } from './aerial.ts';
import { openPlaces } from './places/table.ts';

type Fields = Readonly<Record<string, string | number>>;

const aerial = makeAerial(openPlaces());

async function fields(from: string, to: string): Promise<Fields> {
  return answerFields(await aerial.answer([from, to], NOW), AERIAL_ABOUT);
}

test('the first example is answered as described', async () => {
  const outcome = await askName(aerial, AERIAL_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), AERIAL_ABOUT.exampleResponse);
});

test('distances that are known, poles, the date line and opposite points', async () => {
  const half = Math.round(Math.PI * EARTH_KM * 10) / 10;
  for (const [from, to, km, brg] of [
    // A degree of the equator and of a meridian.
    ['0_0', '0_1', 111.2, 90],
    ['0_0', '1_0', 111.2, 0],
    ['1_0', '0_0', 111.2, 180],
    ['0_0', '0_-1', 111.2, 270],
    // A minute of arc is a nautical mile.
    ['0_0', '0_0d016666667', 1.9, 90],
    ['0_179d5', '0_-179d5', 111.2, 90],
    ['0_180', '0_-180', 0, undefined],
    ['90_0', '-90_0', half, undefined],
    ['90_0', '90_180', 0, undefined],
    ['90_0', '0_50', half / 2, 130],
    ['89_0', '89_180', 222.4, 0],
    ['0_0', '0_180', half, undefined],
    ['12d5_40', '-12d5_-140', half, undefined],
    ['51d5_0', '51d5_0', 0, undefined],
    // Two airports, in an almanac 5,540 km apart on the ellipsoid.
    ['51d4775_-0d4614', '40d6398_-73d7789', 5540, 288],
  ] as const) {
    const found = await fields(from, to);
    assert.ok(Math.abs(Number(found.km) - km) <= Math.max(0.11, km * 0.002), `${from} ${to}: ${found.km}`);
    assert.equal(found.brg, brg, `${from} ${to}`);
  }
  const { mi, nmi, km } = await fields('90_0', '-90_0');
  assert.deepEqual([km, mi, nmi], [20_015.1, 12_436.8, 10_807.3]);
});

test('coordinates are told as they were asked for, and cities with their country', async () => {
  const found = await fields('40d71_-74d01', 'paris');
  assert.deepEqual([found.from, found.to], ['40.71_-74.01', 'Paris, FR']);
  assert.equal((await fields('0d0000001_0', '1_1')).from, '0.0000001_0');
});

/** In kilometres; floats are less exact near opposite points. */
const METRE = 0.001;

const point = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lon: fc.double({ min: -180, max: 180, noNaN: true }),
});

test('property: a distance is symmetric, at most half the earth, and by no way shorter', () => {
  fc.assert(
    fc.property(point, point, point, (a, b, c) => {
      const ab = distanceKm(a, b);
      assert.ok(ab >= 0 && ab <= Math.PI * EARTH_KM + METRE);
      assert.ok(Math.abs(ab - distanceKm(b, a)) < METRE);
      assert.ok(ab <= distanceKm(a, c) + distanceKm(c, b) + METRE);
      assert.ok(bearing(a, b) >= 0 && bearing(a, b) < 360);
      // The chord through the earth is another way to the same angle.
      const [x, y] = [vector(a), vector(b)];
      const chord = Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
      assert.ok(Math.abs(2 * EARTH_KM * Math.asin(Math.min(1, chord / 2)) - ab) < 1);
    }),
    { numRuns: 1000 },
  );
});

function vector({ lat, lon }: { lat: number; lon: number }): readonly [number, number, number] {
  const [a, o] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
  return [Math.cos(a) * Math.cos(o), Math.cos(a) * Math.sin(o), Math.sin(a)];
}

test('two places are needed, neither of them the asker', async () => {
  for (const params of [
    ...[
      [],
      ['london'],
      ['london', 'paris', 'rome'],
      ['me', 'london'],
      ['london', 'me'],
      ['nowhereville', 'here'],
    ],
    ...[
      ['here', 'nowhereville'],
      ['91_0', 'london'],
      ['london', '0_181'],
      ['ip-8-8-8-8', 'london'],
    ],
  ]) {
    assert.equal((await aerial.answer(params, NOW)).kind, 'malformed', params.join('.'));
  }
  for (const params of [
    ['nowhereville', 'london'],
    ['london', 'nowhereville'],
  ]) {
    assert.equal(codeOf(await aerial.answer(params, NOW)), 'E004');
  }
});
