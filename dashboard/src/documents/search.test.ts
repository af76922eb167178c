import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type IndexedPage, searchIndex } from '../../documents/search-index.ts';
import { search, wordsOf } from './search.ts';

const filler = Array.from({ length: 12 }, (_, at) => ({
  id: `other-${at}`,
  depth: 2,
  text: `Other ${at}`,
  words: 'about things',
}));
const INDEX = searchIndex([
  {
    url: '/docs/webhooks',
    title: 'Receiving webhooks',
    isBrief: false,
    headings: [
      {
        id: 'receiving-webhooks',
        depth: 1,
        text: 'Receiving webhooks',
        words: 'an endpoint gets deliveries',
      },
      {
        id: 'signatures',
        depth: 2,
        text: 'Signatures',
        words: 'each delivery has a signature of UQRP_SECRET',
      },
      ...filler,
    ],
  },
  {
    url: '/docs/attacks',
    title: 'Attacks',
    isBrief: true,
    headings: [
      { id: 'attacks', depth: 1, text: 'Attacks', words: 'webhooks without end' },
      { id: 'replayed', depth: 2, text: 'A replayed delivery', words: 'signature' },
    ],
  },
]);

function page(url: string, title: string, heading: string, words: string): IndexedPage {
  const id = heading.toLowerCase();
  const beginning = { id: 'top', depth: 1, text: title, words: '' };
  const others = filler.slice(0, 4);
  return {
    url,
    title,
    isBrief: false,
    headings: [beginning, { id, depth: 2, text: heading, words }, ...others],
  };
}

describe('the search of the documents', () => {
  it('finds the page of that title first, then sections, then texts', () => {
    const [first, ...others] = search(INDEX, 'webhooks');
    assert.deepEqual(first, { url: '/docs/webhooks', page: 'Receiving webhooks', section: '' });
    assert.ok(others.every(({ page }) => page === 'Receiving webhooks'));
    assert.deepEqual(
      search(INDEX, 'delivery').map(({ url }) => url),
      ['/docs/attacks#replayed', '/docs/webhooks#signatures'],
    );
  });

  it('finds the beginning of the last word, and whole words before it', () => {
    assert.deepEqual(
      search(INDEX, 'delivery sig').map(({ section }) => section),
      ['Signatures'],
    );
    assert.deepEqual(
      search(INDEX, 'del signature').map(({ section }) => section),
      ['Signatures'],
    );
    assert.deepEqual(
      search(INDEX, 'uqrp_sec').map(({ section }) => section),
      ['Signatures'],
    );
  });

  it('finds a section of a page about the word before one of another page', () => {
    const index = searchIndex([
      page('/docs/usage', 'Usage', 'Counts', 'webhooks and a secret'),
      page('/docs/webhooks', 'Receiving webhooks', 'Keys', 'webhooks and a secret'),
      page('/docs/other', 'Other', 'Rest', 'nothing'),
    ]);
    assert.equal(search(index, 'webhooks secret')[0]?.url, '/docs/webhooks#keys');
  });

  it('finds two words of a title by one', () => {
    const index = searchIndex([
      page('/docs/restore', 'Restore', 'From a backup', 'a backup'),
      page('/docs/back-up', 'Back up', 'Every night', 'a copy'),
      page('/docs/other', 'Other', 'Rest', 'nothing'),
    ]);
    assert.equal(search(index, 'backup')[0]?.url, '/docs/back-up');
  });

  it('finds what has most of the words where nothing has all of them', () => {
    const index = searchIndex([
      page('/docs/cost', 'Cost', 'Machines', 'a month of a machine'),
      page('/docs/readers', 'Readers', 'Retries', 'a pause after a failure'),
      page('/docs/other', 'Other', 'Rest', 'a month without a failure'),
    ]);
    assert.deepEqual(
      search(index, 'month pause failure').map(({ url }) => url),
      ['/docs/readers#retries', '/docs/other#rest'],
    );
    assert.ok(search(index, 'machine pause').length > 1);
  });

  it('finds nothing for what is nowhere, for what is everywhere, and for no words', () => {
    for (const query of ['zebra', 'things', '', ' - ', 'a'])
      assert.deepEqual(search(INDEX, query), [], query);
  });

  it('takes words of 2 to 32 letters, in any case', () => {
    assert.deepEqual(wordsOf('A DNS-over-HTTPS name, `UQRP_DNS`; äöü'), [
      'dns',
      'over',
      'https',
      'name',
      'uqrp_dns',
      'äöü',
    ]);
  });
});
