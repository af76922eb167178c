import { type Attestation, checkAttestation, readAttestationKeys } from '../../../../sdk/src/dns.ts';
import type { DatasetVersion } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { place, setQuery } from '../../app/router.ts';
import { useResource } from '../../data/resource.ts';
import { bytes, count } from '../../format/format.ts';
import { type TextKey, t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Select } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';
import { askTexts } from './ask-texts.ts';
import { Identity } from './identity.tsx';

const ATTESTATIONS: Readonly<Record<Attestation, TextKey>> = {
  valid: 'datasets.attested',
  signature_wrong: 'datasets.signatureWrong',
  key_unknown: 'datasets.keyUnknown',
  key_ended: 'datasets.keyEnded',
  unsupported: 'datasets.unsupported',
};

export interface DatasetViewProps {
  readonly slug: string;
  readonly zone: string;
  /** Whether this server answers for earlier dates. */
  readonly hasDates: boolean;
}

/** One dataset: its versions, the manifest of one, and its items. */
export function DatasetView({ slug, zone, hasDates }: DatasetViewProps) {
  const dataset = useResource(`dataset ${slug}`, (signal) => api.datasets.get(slug, { signal }));
  if (dataset.state === 'loading') return <Loading />;
  if (dataset.state === 'failed') return <ErrorNote error={dataset.error} again={dataset.again} />;
  const { versions, latest } = dataset.value;
  const asked = place.value.query.get('version');
  const shown = versions.find(({ version }) => version === asked) ?? latest;
  return (
    <section class="stack" aria-labelledby="dataset">
      <h2 id="dataset">{slug}</h2>
      <Select
        label={t('datasets.version')}
        value={shown.version}
        options={versions.map(({ version }) => ({ value: version, text: version }))}
        onChange={(version) => setQuery({ version })}
      />
      <Manifest manifest={shown} zone={zone} />
      <Identity slug={slug} zone={zone} hasDates={hasDates} />
    </section>
  );
}

function Manifest({ manifest, zone }: { manifest: DatasetVersion; zone: string }) {
  const { slug, version, license, provenance, url, sha256, attkid, atts, items, windows, octets } = manifest;
  const name = `manifest.${slug}-v-${version.replaceAll('.', 'd')}.datasets.public.v1.${zone}`;
  const rows: readonly (readonly [TextKey, string])[] = [
    ['datasets.license', license],
    ['datasets.provenance', provenance],
    ['datasets.sha256', sha256],
    ['datasets.url', url],
    ['datasets.key', attkid],
    [
      'datasets.size',
      t('datasets.sizeText', { items: count(items), windows: count(windows), size: bytes(octets) }),
    ],
  ];
  return (
    <>
      <AttestationLine manifest={manifest} zone={zone} />
      <dl class="facts">
        {rows.map(([key, text]) => (
          <div key={key}>
            <dt>{t(key)}</dt>
            <dd class="code wrap">{text}</dd>
          </div>
        ))}
        <div>
          <dt>{t('datasets.when')}</dt>
          <dd>
            <Time at={atts * 1000} form="exact" />
          </dd>
        </div>
      </dl>
      <p>
        <a href={`/playground?name=${encodeURIComponent(name)}`}>{t('datasets.playground')}</a>
      </p>
    </>
  );
}

/** Checked in the page with the keys that the server publishes over DNS. */
function AttestationLine({ manifest, zone }: { manifest: DatasetVersion; zone: string }) {
  const { slug, version } = manifest;
  const checked = useResource(`attestation ${slug} ${version}`, async (signal) => {
    const keys = await readAttestationKeys(
      await askTexts(`manifest.keys.datasets.public.v1.${zone}`, signal),
    );
    return checkAttestation(manifest, keys);
  });
  if (checked.state === 'loading') return <Loading />;
  if (checked.state === 'failed') return <ErrorNote error={checked.error} again={checked.again} />;
  const isValid = checked.value === 'valid';
  return (
    <p role="status">
      <Badge text={t(isValid ? 'datasets.valid' : 'datasets.notValid')} tone={isValid ? 'good' : 'bad'} />{' '}
      {t(ATTESTATIONS[checked.value])}
    </p>
  );
}
