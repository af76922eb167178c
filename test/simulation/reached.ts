import { FAILOVER } from './database-harms.ts';
import { HARMS } from './harms.ts';

/** What a run of some hundred seeds reaches. Otherwise it proves nothing about it. */
export const REACHED: readonly string[] = [
  ...[...HARMS, FAILOVER].map(({ name }) => `harm ${name}`),
  ...['conflict', 'rewound', 'stream_failed', 'stepped_back', 'leading', 'failed'].map(
    (event) => `publisher ${event}`,
  ),
  ...['rebuilding', 'following', 'failing'].map((state) => `follower ${state}`),
  ...['source', 'disk_full'].map((fault) => `follower fault ${fault}`),
  ...['signature', 'size', 'clock', 'replayed', 'epoch'].map((reason) => `refused ${reason}`),
  'repair from control',
  'repair from stream',
  'acknowledgement of usage lost',
  'batch of usage lost',
  'accounting fault spool',
  'spool read',
  'snapshot made',
  'snapshot adopted',
  'keys delivered',
  'answer with a record',
  'packet cache hit',
  'keys of the zone read',
  'secrets in use',
  'rollover zsk switch',
  ...['published', 'published before', 'retired', 'refused', 'command killed'].map(
    (what) => `dataset ${what}`,
  ),
  'log at rest',
  'address taken again',
  ...['is taken in', 'is removed', 'looks'].map((what) => `member ${what}`),
  ...['lists', 'counts', 'restores', 'undoes', 'switches'].map((what) => `keeper ${what}`),
  'delivery failed',
  'stream goes on',
  'flags asked: 200',
  'flags level',
  'flags told',
  'flags shown',
  'question over a commit',
  'question repeated over TCP',
];
