import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMembersCheck } from './members.ts';

const found = { name: 'ModelError' };

describe('the model of members', () => {
  it('knows that nobody belongs to an organization before he is taken in', () => {
    const check = createMembersCheck();
    check.asks('a list')(false);
    assert.throws(() => check.asks('a list')(true), found);
  });

  it('knows that a user who was removed is given nothing, and what was asked before may be given', () => {
    const check = createMembersCheck();
    check.change(true).done();
    const before = check.asks('a list');
    const removal = check.change(false);
    check.asks('a list')(true);
    removal.done();
    before(true);
    check.asks('a list')(false);
    assert.throws(() => check.asks('a list')(true), found);
  });

  it('knows that a member is not refused, also where his removal was', () => {
    const check = createMembersCheck();
    check.change(true).done();
    check.change(false).refused();
    check.asks('a list')(true);
    assert.throws(() => check.asks('a list')(false), found);
  });

  it('takes both for possible while nobody knows whether he was removed, and after a restore', () => {
    const check = createMembersCheck();
    check.change(true).done();
    check.change(false).lost(false);
    for (const isGiven of [true, false]) check.asks('a list')(isGiven);
    check.restored();
    for (const isGiven of [true, false]) check.asks('a list')(isGiven);
  });
});
