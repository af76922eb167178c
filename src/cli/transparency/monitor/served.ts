/** What is served, over REST and over DNS, against the sum of the log. */
import { InputError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { attestationKeyId } from '../../../protocol/datasets/attestation.ts';
import { manifestTxt, readSignedManifest, type SignedManifest } from '../../../protocol/datasets/manifest.ts';
import { readKeyTxt, readManifestTxt } from '../../../protocol/datasets/published.ts';
import { compareVersions, isAskable, KEYS_SLUG, manifestLabel } from '../../../protocol/datasets/query.ts';
import type { LogSum } from '../../../protocol/transparency/entries.ts';
import { sameOctets } from '../../../protocol/transparency/tree.ts';
import { type Alarm, type AlarmCode, alarm } from './alarms.ts';

export interface ServedSources {
  /** Datasets with the manifests of all served versions, page by page. Null: there is no such listing. */
  readonly datasets: () => Promise<AsyncIterable<ServedDataset> | null>;
  /** TXT values of `manifest.LABEL.datasets.public.v1`; none where the name has none. Null: DNS is not compared. */
  readonly txt: ((label: string) => Promise<readonly Uint8Array[]>) | null;
  /** Whether the listing came from a cache, the last time. */
  readonly isCached?: () => boolean;
}

export interface ServedDataset {
  readonly slug: string;
  readonly latest: string;
  /** Manifest files of all served versions, also of the latest as the listing of all datasets has it. */
  readonly manifests: readonly unknown[];
}

interface Comparison {
  readonly alarms: Alarm[];
  /** Why something was not compared: who serves cannot hide a name behind another one that fails. */
  readonly faults: InputError[];
}

/** Questions over DNS that may fail before no more are asked: each may wait for its deadline. */
const DNS_FAULTS = 10;

/**
 * @param only one slug, or null for all. @param note the checkpoint of the sum, for the evidence
 * @param checkTime throws InputError when the round has had its time
 */
export async function compareServed(
  sum: LogSum,
  sources: ServedSources,
  only: string | null,
  note: string,
  checkTime: () => void,
): Promise<Comparison> {
  const alarms: Alarm[] = [];
  const faults: InputError[] = [];
  const counts = new Map<AlarmCode, number>();
  const raise = (
    code: AlarmCode,
    slug: string | null,
    text: string,
    served?: Uint8Array | string,
    logged?: Uint8Array,
  ): void => {
    const evidence = {
      'held.checkpoint': note,
      ...(served !== undefined && { served }),
      ...(logged !== undefined && { logged }),
    };
    const count = counts.get(code) ?? 0;
    // More of a kind than are told are not kept either.
    if (count > LIMITS.monitorAlarms) return;
    // The latest version is looked at twice.
    if (alarms.some((one) => one.code === code && one.text === text)) return;
    counts.set(code, count + 1);
    alarms.push(alarm(code, text, evidence, slug));
  };

  /** One served manifest against the log. @param where for the text */
  function checkManifest(slug: string, version: string, served: Uint8Array, where: string): void {
    const logged = sum.versions.get(slug)?.get(version);
    const name = `${slug} ${version}`;
    if (logged === undefined) {
      raise('served_not_logged', slug, `${where} serves ${name}, which is not in the log`, served);
    } else if (!sameOctets(logged.leaf, served)) {
      raise(
        'version_replaced',
        slug,
        `${where} serves another manifest of ${name} than the log has`,
        served,
        logged.leaf,
      );
    } else if (logged.retired) {
      raise(
        'served_not_logged',
        slug,
        `${where} serves ${name}, which the log says is retired`,
        served,
        logged.leaf,
      );
    }
  }

  function checkLatest(slug: string, version: string, where: string): void {
    const latest = sum.latest(slug)?.manifest.version ?? null;
    if (latest === null || compareVersions(version, latest) >= 0) return;
    raise(
      'older_latest',
      slug,
      `${where} serves ${slug} ${version} as the latest, and the log has ${latest}`,
    );
  }

  function missing(slug: string, version: string, leaf: Uint8Array, where: string): void {
    raise(
      'logged_not_served',
      slug,
      `${where} does not serve ${slug} ${version}, which the log has`,
      undefined,
      leaf,
    );
  }

  const logged = () => [...sum.versions].filter(([slug]) => only === null || slug === only);

  async function overRest(): Promise<void> {
    const datasets = await sources.datasets();
    if (datasets === null) return;
    const seen = new Set<string>();
    for await (const { slug, latest, manifests } of datasets) {
      checkTime();
      if (only !== null && slug !== only) continue;
      for (const file of manifests) {
        const manifest = readServed(file);
        if (manifest === null || manifest.slug !== slug) {
          raise(
            'version_replaced',
            slug,
            `REST serves a manifest of ${slug} that is not readable`,
            JSON.stringify(file),
          );
          continue;
        }
        // A listing may be endless, the log is not.
        if (sum.versions.get(slug)?.has(manifest.version)) seen.add(`${slug}@${manifest.version}`);
        checkManifest(slug, manifest.version, Buffer.from(manifestTxt(manifest)), 'REST');
      }
      checkLatest(slug, latest, 'REST');
    }
    for (const [slug, versions] of logged())
      for (const [version, entry] of versions)
        if (!entry.retired && !seen.has(`${slug}@${version}`)) missing(slug, version, entry.leaf, 'REST');
  }

  async function overDns(txt: NonNullable<ServedSources['txt']>): Promise<void> {
    /** Null: no answer. */
    async function ask(label: string): Promise<readonly Uint8Array[] | null> {
      checkTime();
      if (faults.length > DNS_FAULTS) return null;
      return await attempt(() => txt(label));
    }
    for (const [slug, versions] of logged()) {
      if (!isAskable(slug)) continue;
      for (const [version, entry] of versions) {
        const served = await ask(manifestLabel(slug, version));
        for (const one of served ?? []) checkManifest(slug, version, one, 'DNS');
        if (served?.length === 0 && !entry.retired) missing(slug, version, entry.leaf, 'DNS');
      }
      const served = await ask(manifestLabel(slug, null));
      if (served?.length === 0 && sum.latest(slug) !== null)
        raise('logged_not_served', slug, `DNS serves no version of ${slug}, and the log has some`);
      for (const one of served ?? []) checkLatestTxt(slug, one);
    }
    const keys = await ask(KEYS_SLUG);
    if (keys === null) return;
    for (const served of keys) checkKey(served);
    for (const { kid, leaf } of neededKeys(sum))
      if (!keys.some((served) => sameOctets(served, leaf)))
        raise('logged_not_served', null, `DNS does not serve key ${kid} as the log has it`, undefined, leaf);
  }

  function checkLatestTxt(slug: string, served: Uint8Array): void {
    const read = readManifestTxt(served);
    if (!read.ok || read.value.slug !== slug) {
      raise('version_replaced', slug, `DNS serves a latest manifest of ${slug} that is not readable`, served);
      return;
    }
    checkManifest(slug, read.value.version, served, 'DNS');
    checkLatest(slug, read.value.version, 'DNS');
  }

  function checkKey(served: Uint8Array): void {
    const key = readKeyTxt(served);
    const kid = key && (/;kid=([^;]*)/.exec(Buffer.from(served).toString())?.[1] ?? '');
    const entry = kid === null ? undefined : sum.keys.get(kid);
    if (key !== null && entry !== undefined && !sameOctets(entry.key.publicKey, key.publicKey)) {
      raise('key_reused', null, `DNS serves another public key ${kid} than the log has`, served, entry.leaf);
    } else if (key === null || attestationKeyId(key.publicKey) !== kid) {
      raise('key_reused', null, 'DNS serves a key whose id is not that of its public key', served);
    } else if (entry === undefined) {
      raise('served_not_logged', null, `DNS serves key ${kid}, which is not in the log`, served);
    }
  }

  async function attempt<T>(run: () => Promise<T>): Promise<T | null> {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(error);
      return null;
    }
  }

  const { txt } = sources;
  await attempt(overRest);
  if (txt !== null) await attempt(() => overDns(txt));
  return { alarms, faults };
}

/** Keys that the registry has to publish: those of versions that are not retired, and the newest. */
function neededKeys({
  versions,
  keys,
}: LogSum): readonly { readonly kid: string; readonly leaf: Uint8Array }[] {
  const used = new Set<string>();
  for (const ofSlug of versions.values())
    for (const { manifest, retired } of ofSlug.values()) if (!retired) used.add(manifest.attkid);
  const all = Array.from(keys, ([kid, { leaf, key }]) => ({ kid, leaf, since: key.since }));
  const newest = all.reduce((best, { since }) => Math.max(best, since), 0);
  return all.filter(({ kid, since }) => used.has(kid) || since === newest);
}

/** A manifest of a listing has members that its file has not. */
function readServed(file: unknown): SignedManifest | null {
  if (typeof file !== 'object' || file === null)
    throw new InputError('GET /datasets is not a listing of datasets');
  const stated = { ...file } as Record<string, unknown>;
  for (const name of ['items', 'windows', 'octets', 'published_at']) delete stated[name];
  const read = readSignedManifest(stated);
  return read.ok ? read.value : null;
}
