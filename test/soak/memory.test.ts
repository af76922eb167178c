import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plotOf, type Sample, slopeOf } from './memory.ts';

const LINE: readonly Sample[] = Array.from({ length: 600 }, (_, i) => ({
  minutes: i / 20,
  megabytes: 300 + (1.5 * i) / 20,
}));

test('the slope of a soak is that of its samples, and a swing does not change it', () => {
  assert.ok(Math.abs(slopeOf(LINE) - 1.5) < 1e-9);
  const swinging = LINE.map(({ minutes }) => ({ minutes, megabytes: 300 + (Math.round(minutes * 20) % 40) }));
  assert.ok(Math.abs(slopeOf(swinging)) < 0.1);
});

test('the plot of a soak says its slope after warm-up', () => {
  const svg = plotOf(LINE, 10);
  assert.ok(svg.startsWith('<svg ') && svg.endsWith('</svg>\n'));
  assert.match(svg, /slope 1\.50 MB a minute/);
  assert.doesNotMatch(svg, /NaN/);
});
