import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { ENGINES } from '../../../test/support/control/webhooks/dispatch-world.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, oneRow } from '../../../test/support/store/rows.ts';
import { realRandom } from '../../base/chance.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import type { Store, Tx } from '../../store/store.ts';
import { createUser, issueToken } from './rules.ts';
import { jwtSigner, KEY_PERIOD, openJwtKeys, openSessions } from './sessions.ts';

const NOW = Date.UTC(2026, 0, 1);
const CLAIMS = { userId: 'c', sessionId: 's', expiresAt: NOW + 60_000 };
const EARLIER = generateKeyPairSync('ed25519');
const encryption = aesGcmEncryption(randomBytes(32), randomBytes, 0);

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

function open(store: Store, clock: Clock = () => NOW) {
  const signer = jwtSigner(openJwtKeys(store, encryption, realRandom), EARLIER.publicKey, clock);
  return {
    verify: (token: string) => signer.verify(token),
    sign: async (claims: typeof CLAIMS, now: number) =>
      signer.sign(claims, now, await store.write((tx) => signer.keyIn(tx, now))),
  };
}

const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? '';

/** A token with any header and claims, signed by any key. */
function forge(header: object, claims: object, key: KeyObject | Uint8Array): Promise<string> {
  return new SignJWT({ sub: 'c', sid: 's', iss: 'uqrp', aud: 'uqrp-api', exp: NOW / 1000 + 60, ...claims })
    .setProtectedHeader({ alg: 'EdDSA', ...header })
    .sign(key);
}

for (const { name, create, skip } of ENGINES) {
  describe(`session tokens, ${name}`, { skip }, () => {
    it('name the user, the customer, the end and the key', () =>
      withStore(create, async (store) => {
        const token = await open(store).sign(CLAIMS, NOW);
        const { kid, ...header } = decodeProtectedHeader(token);
        assert.deepEqual(header, { alg: 'EdDSA', typ: 'JWT' });
        assert.match(kid!, /^[0-9a-f]{16}$/);
        assert.deepEqual(decodeJwt(token), {
          iss: 'uqrp',
          aud: 'uqrp-api',
          sub: 'c',
          sid: 's',
          iat: NOW / 1000,
          exp: NOW / 1000 + 60,
        });
      }));

    it('two processes that begin together sign with one key, and take each other’s tokens', () =>
      withStore(create, async (store) => {
        const [one, two] = [open(store), open(store)];
        const [a, b] = await Promise.all([one.sign(CLAIMS, NOW), two.sign(CLAIMS, NOW)]);
        assert.equal(kidOf(a), kidOf(b));
        assert.deepEqual([await one.verify(b), await two.verify(a)], [CLAIMS, CLAIMS]);
        assert.equal((await findRows(store.read, 'jwt_keys', { columns: ['period'] })).length, 1);
      }));

    it('the key changes every 30 days; the earlier one verifies until its last token has ended, and is then deleted', () =>
      withStore(create, async (store) => {
        let now = Math.floor(NOW / KEY_PERIOD) * KEY_PERIOD + KEY_PERIOD - 1;
        const [one, two] = [open(store, () => now), open(store, () => now)];
        const claims = { ...CLAIMS, expiresAt: now + 3_600_999 - ((now + 3_600_999) % 1000) };
        const old = await one.sign(claims, now);
        now += 1;
        const fresh = await one.sign(claims, now);
        assert.notEqual(kidOf(old), kidOf(fresh));
        assert.deepEqual([await two.verify(old), await two.verify(fresh)], [claims, claims]);
        now += KEY_PERIOD;
        const third = await two.sign({ ...claims, expiresAt: now + 60_000 - (now % 1000) }, now);
        const kept = await findRows(store.read, 'jwt_keys', { columns: ['kid'], order: 'period' });
        assert.deepEqual(
          kept.map(({ kid }) => kid),
          [kidOf(fresh), kidOf(third)],
        );
      }));

    it('a key that the database lost in a failover signs no more: no other process would take its tokens (seed 6012662)', () =>
      withStore(create, async (store) => {
        const secret = randomBytes(32);
        const deps = { store, clock: () => NOW, newId: (): string => randomUUID() };
        const [one, two] = [openSessions(deps, secret), openSessions(deps, secret)];
        const { id: userId } = await createUser(deps, 'a@example.net', 'free');
        const issued = async (sessions: typeof one) =>
          (await issueToken({ store, sessions }, 'a@example.net')).token;
        await issued(one);
        await store.write((tx) => tx.execute('delete from jwt_keys', []));
        const [other, own] = [await issued(two), await issued(one)];
        assert.equal(kidOf(own), kidOf(other));
        assert.equal((await two.authenticate(own))?.userId, userId);
        assert.equal((await one.authenticate(other))?.userId, userId);
      }));

    it('the key of a session is of its unit: no failover can leave a session behind whose key is lost', () =>
      withStore(create, async (store) => {
        const deps = { store, clock: () => NOW, newId: (): string => randomUUID() };
        const sessions = openSessions(deps, randomBytes(32));
        const { id } = await createUser(deps, 'a@example.net', 'free');
        const begin = (tx: Tx) => sessions.begin(tx, id, 'cli', null);
        const undone = store.write(async (tx) => {
          await begin(tx);
          throw new Error('undone');
        });
        await assert.rejects(undone, /undone/);
        assert.deepEqual(await findRows(store.read, 'jwt_keys', { columns: ['kid'] }), []);
        const session = await store.write(begin);
        assert.equal((await oneRow(store.read, 'jwt_keys')).kid, session.key.kid);
      }));

    it('the private key is encrypted at rest', () =>
      withStore(create, async (store) => {
        const keys = openJwtKeys(store, encryption, realRandom);
        const { privateKey, kid } = keys.signing(await store.write((tx) => keys.keyIn(tx, NOW)));
        const der = privateKey.export({ format: 'der', type: 'pkcs8' });
        const row = await oneRow(store.read, 'jwt_keys');
        const stored = Buffer.from(row.private_key);
        for (const form of [der, der.subarray(-32), Buffer.from(der.toString('base64'))]) {
          assert.equal(stored.includes(form), false);
        }
        assert.equal(encryption.decrypt(kid, row.private_key), der.toString('base64'));
        assert.deepEqual(await keys.verifying(kid), createPublicKey(privateKey));
      }));

    it('tokens of releases without `kid` count until they end', () =>
      withStore(create, async (store) => {
        let now = NOW;
        const signer = open(store, () => now);
        const token = await forge({}, {}, EARLIER.privateKey);
        assert.deepEqual(await signer.verify(token), CLAIMS);
        now = CLAIMS.expiresAt;
        assert.equal(await signer.verify(token), null);
      }));

    it('a token ends on time, remembered or not', () =>
      withStore(create, async (store) => {
        let now = NOW;
        const signer = open(store, () => now);
        const token = await signer.sign(CLAIMS, NOW);
        assert.deepEqual(await signer.verify(token), CLAIMS);
        now = CLAIMS.expiresAt - 1;
        assert.deepEqual(await signer.verify(token), CLAIMS);
        now = CLAIMS.expiresAt;
        assert.equal(await signer.verify(token), null);
        assert.equal(await open(store, () => now).verify(token), null);
      }));

    it('a change of any letter breaks it', () =>
      withStore(create, async (store) => {
        const signer = open(store);
        const token = await signer.sign(CLAIMS, NOW);
        for (let i = 0; i < token.length - 1; i++) {
          if (token[i] === '.') continue;
          const changed = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
          assert.equal(await signer.verify(changed), null);
        }
        // The last letter has unused bits, so that several letters stand for the same octets.
        for (const letter of BASE64URL.replace(token.at(-1)!, '')) {
          assert.equal(await signer.verify(token.slice(0, -1) + letter), null, letter);
        }
        assert.deepEqual(await signer.verify(token), CLAIMS);
        assert.equal(await signer.verify(token.slice(0, -1)), null);
      }));

    it('another key, algorithm, issuer, audience or kid is refused', () =>
      withStore(create, async (store) => {
        const keys = openJwtKeys(store, encryption, realRandom);
        const { kid, privateKey } = keys.signing(await store.write((tx) => keys.keyIn(tx, NOW)));
        const publicKey = (await keys.verifying(kid))!;
        const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
        const pem = Buffer.from(publicKey.export({ format: 'pem', type: 'spki' }));
        const stranger = generateKeyPairSync('ed25519').privateKey;
        const good = await forge({ kid }, {}, privateKey);
        const signer = open(store);
        assert.deepEqual(await signer.verify(good), CLAIMS);
        const [, body] = good.split('.');
        const none = Buffer.from(JSON.stringify({ alg: 'none', kid })).toString('base64url');
        for (const token of [
          `${none}.${body}.`,
          `${none}.${body}.AA`,
          await forge({ alg: 'HS256', kid }, {}, raw),
          await forge({ alg: 'HS256', kid }, {}, pem),
          await forge({ kid }, {}, stranger),
          await forge({}, {}, stranger),
          await forge({}, {}, privateKey),
          await forge({ kid }, {}, EARLIER.privateKey),
          await forge({ kid: '0'.repeat(16) }, {}, privateKey),
          await forge({ kid: `${kid}'` }, {}, privateKey),
          await forge({ kid: '../../etc/passwd' }, {}, privateKey),
          await forge({ kid: kid.toUpperCase() }, {}, privateKey),
          await forge({ kid }, { iss: 'other' }, privateKey),
          await forge({ kid }, { aud: 'other' }, privateKey),
          await forge({ kid }, { iss: undefined }, privateKey),
          await forge({ kid }, { aud: undefined }, privateKey),
          await forge({ kid }, { exp: undefined }, privateKey),
          await forge({ kid }, { sid: undefined }, privateKey),
          await forge({ kid }, { sub: undefined }, privateKey),
          await forge({ kid }, { nbf: NOW / 1000 + 30 }, privateKey),
        ]) {
          assert.equal(await signer.verify(token), null, token);
        }
      }));
  });
}
