import { manifestTxt } from '../../../src/protocol/datasets/manifest.ts';
import { SmallLog } from '../protocol/transparency/small-log.ts';
import { type WatchedOperator, WITNESSES } from './watched-operator.ts';

/** Name of the key that the operator has at the beginning. Then it serves versions 1.0.0 and 1.1.0 of `sample`. */
export const KEY = 'first key';

/** What the operator does after a round in which all was well, and what the next round raises. */
export const SILENT_ACTS: Readonly<
  Record<string, readonly [readonly string[], (by: WatchedOperator) => void]>
> = {
  'a leaf of the past is changed': [
    ['two_histories'],
    (by) => {
      by.log.leaves[1] = Buffer.from(manifestTxt(by.manifest('sample', '1.0.0', KEY, 'other items')));
      by.log.append('more');
    },
  ],
  'the same size has another root': [
    ['two_histories'],
    (by) => {
      by.log.leaves[2] = Buffer.from('other');
    },
  ],
  'a smaller log has another past': [
    ['two_histories'],
    (by) => {
      by.log.leaves.splice(1, 2, Buffer.from('other'));
    },
  ],
  'another history has no quorum': [
    ['two_histories'],
    (by) => {
      by.log.leaves[2] = Buffer.from('other');
      by.log.append('more');
      by.cosigners = WITNESSES.slice(0, 1);
    },
  ],
  'the log is cut short': [
    ['shrunk'],
    (by) => {
      by.size = 2;
    },
  ],
  'the head has no quorum': [
    ['checkpoint_untrusted'],
    (by) => {
      by.cosigners = WITNESSES.slice(0, 1);
      by.publish(by.manifest('sample', '1.2.0', KEY));
    },
  ],
  'the head is signed by another key': [
    ['checkpoint_untrusted'],
    (by) => {
      by.log = new SmallLog(by.log.leaves, 'other.example/log');
    },
  ],
  'a version is logged again with another manifest': [
    ['version_replaced'],
    (by) => {
      const other = by.manifest('sample', '1.1.0', KEY, 'other items');
      by.log.append(manifestTxt(other));
    },
  ],
  'a version is served with another manifest than the log has': [
    ['version_replaced'],
    (by) => {
      by.unserve(by.manifest('sample', '1.1.0', KEY));
      by.served.push(by.manifest('sample', '1.1.0', KEY, 'other items'));
    },
  ],
  'a version is served so over DNS alone': [
    ['version_replaced'],
    (by) => {
      const other = by.manifest('sample', '1.0.0', KEY, 'other items');
      by.dns.set('sample-v-1d0d0', manifestTxt(other));
    },
  ],
  'a manifest is signed by a key that is not logged': [
    ['signature_wrong'],
    (by) => {
      by.publish(by.manifest('sample', '1.2.0', 'another key'));
    },
  ],
  'a manifest is attested after the end of its key': [
    ['signature_wrong'],
    (by) => {
      by.addKey(KEY, 1_795_400_000);
      by.publish(by.manifest('sample', '1.2.0', KEY, 'items', 1_795_400_001));
    },
  ],
  'a key id is given to another key': [
    ['key_reused'],
    (by) => {
      const [txt = ''] = by.keys;
      by.log.append(txt.replace(/pub=.{4}/, 'pub=AAAA'));
    },
  ],
  'another key is served under a logged id': [
    ['key_reused', 'logged_not_served'],
    (by) => {
      by.keys = by.keys.map((txt) => txt.replace(/pub=.{4}/, 'pub=AAAA'));
    },
  ],
  'a key is served that is not logged': [
    ['served_not_logged'],
    (by) => {
      const size = by.log.leaves.length;
      by.addKey('silent key');
      by.log.leaves.length = size;
    },
  ],
  'a version is served and not logged': [
    ['served_not_logged'],
    (by) => {
      by.served.push(by.manifest('sample', '2.0.0', KEY));
    },
  ],
  'a dataset is served and not logged': [
    ['served_not_logged'],
    (by) => {
      by.served.push(by.manifest('silent', '1.0.0', KEY));
    },
  ],
  'a retired version is served still': [
    ['served_not_logged'],
    (by) => {
      const manifest = by.manifest('sample', '1.0.0', KEY);
      by.retire(manifest);
      by.served.push(manifest);
    },
  ],
  'a version is retired silently': [
    ['logged_not_served'],
    (by) => {
      by.unserve(by.manifest('sample', '1.0.0', KEY));
    },
  ],
  'a version is retired silently over DNS alone': [
    ['logged_not_served'],
    (by) => {
      by.dns.set('sample-v-1d0d0', '');
    },
  ],
  'an older version is the latest over DNS': [
    ['older_latest'],
    (by) => {
      by.dns.set('sample', manifestTxt(by.manifest('sample', '1.0.0', KEY)));
    },
  ],
  'DNS has the head of another history': [
    ['two_histories'],
    (by) => {
      const other = new SmallLog([...by.log.leaves.slice(0, 2), 'other'], by.log.origin);
      by.dns.set('log', `v=svc-tindex.v1;e=b64;d=${Buffer.from(other.note()).toString('base64')}`);
    },
  ],
  'DNS has a head that the log has not signed': [
    ['checkpoint_untrusted'],
    (by) => {
      by.dns.set('log', 'v=svc-tindex.v1;e=b64;d=AAAA');
    },
  ],
  'no quorum has cosigned for a day': [
    ['stale'],
    (by) => {
      by.cosignedAt -= 86_460;
    },
  ],
  'a version is retired that was never published': [
    ['entry_wrong'],
    (by) => {
      by.retire(by.manifest('silent', '1.0.0', KEY));
    },
  ],
};
