import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, KEY, Told } from './by-hand.ts';
import { createPreconditionsCheck } from './preconditions.ts';

/** Writes of one record, each answered with a tag. */
class Tagged extends Told {
  readonly check = createPreconditionsCheck(this.model);

  writeIf(method: string, text: string, etag: string, ifMatch?: string): void {
    const record = { key: KEY, data: base64(text) };
    const headers = ifMatch === undefined ? undefined : { 'if-match': ifMatch };
    const pending = this.send(method, method === 'POST' ? '/records' : '/records/r1', { record }, headers);
    const answer = { status: 200, body: { id: 'r1', ...record }, headers: { etag } };
    this.model.answered(this.step(), pending, answer);
    this.check.answered(pending, answer, { from: this.ms, to: this.ms });
  }
}

describe('the model of preconditions', () => {
  it('nothing is written over what was written since the tag was told', () => {
    const told = new Tagged().begin() as Tagged;
    told.writeIf('POST', 'one', '"1"');
    told.writeIf('PATCH', 'two', '"2"', '"1"');
    assert.throws(() => told.writeIf('PATCH', 'three', '"3"', '"1"'), /if "1" is answered 200/);
    told.writeIf('PATCH', 'four', '"4"', '"9"');
  });

  it('another write that was under way meanwhile may have come first, and after a backup all tags are new', () => {
    const told = new Tagged().begin() as Tagged;
    told.writeIf('POST', 'one', '"1"');
    told.send('PATCH', '/records/r1', { record: { data: base64('two') } });
    told.writeIf('PATCH', 'three', '"3"', '"1"');
    told.check.restored();
    told.writeIf('PATCH', 'four', '"4"', '"1"');
  });
});
