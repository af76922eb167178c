import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Edition, editionOf } from '../datasets/editions.ts';
import { datasetText, type RegistryQuestion } from '../edge/dataset-answers.ts';
import { createDatasetsCheck, type DatasetAnswer } from './datasets.ts';

const found = { name: 'ModelError' };
const LATEST: RegistryQuestion = { operation: 'manifest', version: null };
const ITEM: RegistryQuestion = { operation: 'identity', item: 'i1' };
const [first, other, second] = [editionOf(1, 'a'), editionOf(1, 'b'), editionOf(2, 'a')];

const textIn = ({ signed, windows }: Edition, asked: RegistryQuestion): string | null =>
  datasetText({ manifest: () => signed, identity: (_, item) => windows.get(item) ?? [] }, asked, 2e9);

const servedOf = ({ version, signed: { sha256 } }: Edition) => ({ version, sha256 });

const answer = (
  text: string | null,
  asked: RegistryQuestion = LATEST,
  at = 0,
  epoch = 'one',
): DatasetAnswer => ({
  node: 'n1',
  epoch,
  isOverRestore: false,
  sentAt: at,
  answeredAt: at,
  asked,
  rcode: 'NOERROR',
  text,
});

describe('the model of datasets', () => {
  it('knows that a version is published once, and is served from then on', () => {
    const check = createDatasetsCheck();
    check.acknowledged(first, 1);
    check.acknowledged(first, 2);
    assert.throws(() => check.acknowledged(other, 3), found);
    assert.throws(() => check.refused(first, 'it is no JSON'), found);
    check.refused(other, 'it was published with other items');
    check.level([servedOf(first)]);
    for (const served of [[], [servedOf(other)], [servedOf(first), servedOf(first)]])
      assert.throws(() => check.level(served), found);
  });

  it('knows that a backup has what was published before it', () => {
    const check = createDatasetsCheck();
    check.acknowledged(first, 1);
    check.acknowledged(second, 5);
    check.restored(3);
    check.level([servedOf(first)]);
    assert.throws(() => check.level([]), found);
  });

  it('knows what nodes answer where they have everything', () => {
    const check = createDatasetsCheck();
    check.level([first, second].map(servedOf));
    check.answered(answer(textIn(second, LATEST)));
    check.answered(answer(textIn(second, ITEM), ITEM));
    check.answered(answer(textIn(first, LATEST), { operation: 'manifest', version: first.version }));
    check.answered(answer(null, { operation: 'identity', item: 'none' }));
    assert.throws(() => check.answered(answer(textIn(first, LATEST))), found);
    assert.throws(() => check.answered(answer(null, ITEM)), found);
  });

  it('knows that a node does not go back, before a restore, and that an answer on its way may be older', () => {
    const check = createDatasetsCheck();
    check.answered(answer(textIn(second, ITEM), ITEM, 5));
    check.answered(answer(textIn(first, LATEST), LATEST, 5));
    assert.throws(() => check.answered(answer(textIn(first, LATEST), LATEST, 6)), found);
    check.answered({ ...answer(textIn(first, LATEST), LATEST, 6), isOverRestore: true });
    check.answered(answer(textIn(first, LATEST), LATEST, 6, 'two'));
    check.answered({ ...answer(textIn(second, LATEST), LATEST, 6, 'two'), isOverRestore: true });
    check.answered(answer(textIn(first, LATEST), LATEST, 7, 'two'));
  });

  it('knows a text that no file has', () => {
    const check = createDatasetsCheck();
    const mixed = textIn(first, ITEM)!.replace(/;type=.*/, `;type=${second.version} a`);
    assert.throws(() => check.answered(answer(mixed, ITEM)), found);
    assert.throws(() => check.answered({ ...answer(null), rcode: 'SERVFAIL' }), found);
  });

  it('knows that a version that was retired is not served, until it is published again, with the same items', () => {
    const check = createDatasetsCheck();
    check.acknowledged(first, 1);
    check.acknowledged(second, 2);
    check.retiring(first.version, 3)(true);
    check.level([servedOf(second)]);
    assert.throws(() => check.level([first, second].map(servedOf)), found);
    check.publishing(first.version);
    check.level([first, second].map(servedOf));
    assert.throws(() => check.acknowledged(other, 4), found);
    assert.throws(() => check.refused(first, 'it was published with other items'), found);
    check.acknowledged(first, 5);
    assert.throws(() => check.level([servedOf(second)]), found);
  });

  it('knows that what was published can be retired, and nothing of a command without an answer', () => {
    const check = createDatasetsCheck();
    check.retiring(first.version, 0)(false);
    check.acknowledged(first, 1);
    assert.throws(() => check.retiring(first.version, 2)(false), found);
    check.acknowledged(second, 3);
    check.retiring(null, 4);
    for (const served of [[], [servedOf(second)]]) check.level(served);
  });

  it('knows what a recovered log has retired, all of it only once the command has said so', () => {
    const check = createDatasetsCheck();
    const both = [first, second].map(servedOf);
    const recovering = (): ReturnType<typeof check.recovering> => {
      for (const [at, edition] of [first, second].entries()) check.acknowledged(edition, at);
      return check.recovering(3);
    };
    const nothing = { retired: [], replaced: [] };
    // While it runs, and where it died.
    recovering();
    for (const served of [[], both]) check.level(served);
    recovering()(null);
    assert.throws(() => check.level([]), found);
    recovering()(nothing);
    assert.throws(() => check.level([]), found);
    recovering()({ ...nothing, retired: [second.version] });
    check.level([servedOf(first)]);
    assert.throws(() => check.level([]), found);
    assert.throws(() => check.refused(second, 'it was published with other items'), found);
    check.acknowledged(second, 4);
    // Its number belongs to other items.
    check.recovering(5)({ ...nothing, replaced: [second.version] });
    check.refused(second, 'it was published with other items');
    check.level([servedOf(first)]);
  });

  it('knows that a node goes back behind a version that was retired, and behind no other', () => {
    const check = createDatasetsCheck();
    check.answered(answer(textIn(second, ITEM), ITEM, 5));
    check.retiring(first.version, 5);
    assert.throws(() => check.answered(answer(textIn(first, LATEST), LATEST, 6)), found);
    check.retiring(second.version, 6);
    check.answered(answer(textIn(first, LATEST), LATEST, 7));
  });
});
