import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HpackTable } from './hpack-decoder.ts';
import { FIELD_OVERHEAD, type HeaderField, makeField, STATIC_TABLE } from './hpack-field.ts';
import { TABLE_OCTETS } from './limits.ts';

const FIRST = STATIC_TABLE.length + 1;

function field(name: string, octets: number): HeaderField {
  return makeField(name, 'v'.repeat(octets - FIELD_OVERHEAD - name.length));
}

test('a table that the peer made smaller takes no larger field: it is emptied instead (H03)', () => {
  const table = new HpackTable();
  table.insert(field('a', 100));
  assert.equal(table.resize(120), true);
  assert.equal(table.at(FIRST)?.name, 'a');
  table.insert(field('large', 121));
  assert.equal(table.at(FIRST), undefined);
  table.insert(field('b', 120));
  assert.equal(table.at(FIRST)?.name, 'b');
});

test('the table is as RFC 7541 section 4 says after any sizes and fields', () => {
  const step = fc.oneof(
    fc.record({ resize: fc.integer({ min: 0, max: TABLE_OCTETS + 1 }) }),
    fc.record({ insert: fc.integer({ min: FIELD_OVERHEAD + 2, max: TABLE_OCTETS + 100 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new HpackTable();
      let limit = TABLE_OCTETS;
      let held: HeaderField[] = [];
      const evict = (to: number): void => {
        while (held.length > 0 && held.reduce((sum, { octets }) => sum + octets, 0) > to)
          held = held.slice(0, -1);
      };
      steps.forEach((one, i) => {
        if ('resize' in one) {
          assert.equal(table.resize(one.resize), one.resize <= TABLE_OCTETS);
          if (one.resize > TABLE_OCTETS) return;
          limit = one.resize;
          evict(limit);
        } else {
          const next = field(String(i % 10), one.insert);
          table.insert(next);
          evict(limit - next.octets);
          if (next.octets <= limit) held = [next, ...held];
        }
        held.forEach((entry, at) => {
          assert.equal(table.at(FIRST + at), entry);
        });
        assert.equal(table.at(FIRST + held.length), undefined);
      });
    }),
  );
});
