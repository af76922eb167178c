/** Questions about the dataset, and what a node may answer by a view: the rules of docs/PROTOCOL.md, written once more. */
import type { ItemFacts } from '../../../src/protocol/datasets/item.ts';
import type { SignedManifest } from '../../../src/protocol/datasets/manifest.ts';
import type { DatasetView } from '../../../src/view/view.ts';
import { ownItem, SLUG, versionOf } from '../datasets/editions.ts';
import type { Random } from '../random.ts';

export type DatasetQuestion =
  /** `version`: null asks for the latest. */
  | { readonly operation: 'manifest'; readonly version: string | null }
  | { readonly operation: 'identity'; readonly item: string }
  /** Of the transparency log: that it has a version. `version`: null asks for the latest. */
  | { readonly operation: 'proof'; readonly version: string | null }
  /** Its head. */
  | { readonly operation: 'checkpoint' };

export type LogQuestion = Extract<DatasetQuestion, { operation: 'proof' | 'checkpoint' }>;
export type RegistryQuestion = Exclude<DatasetQuestion, LogQuestion>;

export function isOfLog(question: DatasetQuestion): question is LogQuestion {
  return question.operation === 'proof' || question.operation === 'checkpoint';
}

/** The name behind the operation and its parameter; replies of the registry share the counter of this name. */
export const DATASETS_NAME = 'datasets.public.v1';
export const DATASETS_NAMESPACE = 'public';

/** No version has it. */
const MISSING_ITEM = 'i9';

/** Every question, where the operator has published versions up to this number. @param isLogged there is a transparency log */
export function datasetQuestions(versions: number, isLogged: boolean): readonly DatasetQuestion[] {
  const each = Array.from({ length: versions }, (_, at) => versionOf(at + 1));
  return [
    ...[null, ...each].map((version): DatasetQuestion => ({ operation: 'manifest', version })),
    ...(isLogged ? questionsOfLog(each) : []),
    ...['both', 'i1', MISSING_ITEM, ...each.map(ownItem)].map(
      (item): DatasetQuestion => ({ operation: 'identity', item }),
    ),
  ];
}

function questionsOfLog(versions: readonly string[]): readonly DatasetQuestion[] {
  return [
    ...[null, ...versions].map((version): DatasetQuestion => ({ operation: 'proof', version })),
    { operation: 'checkpoint' },
  ];
}

export function anyDatasetQuestion(versions: number, isLogged: boolean, random: Random): DatasetQuestion {
  // What only the newest version answers, more often.
  if (random.chance(0.6)) return random.pick(datasetQuestions(0, isLogged));
  return random.pick(datasetQuestions(versions, isLogged));
}

/** The labels before those of the registry. */
export function datasetLabels(question: DatasetQuestion): string {
  if (question.operation === 'identity') return `identity.${SLUG}-k-${question.item}`;
  if (question.operation === 'checkpoint') return 'manifest.log';
  const { version, operation } = question;
  const label = `manifest.${SLUG}${version === null ? '' : `-v-${version.replaceAll('.', 'd')}`}`;
  return operation === 'proof' ? `${label}.log` : label;
}

/** @returns null: no data */
export function logText(
  view: Pick<DatasetView, 'proof' | 'checkpoint'>,
  question: LogQuestion,
): string | null {
  if (question.operation === 'checkpoint') {
    const checkpoint = view.checkpoint();
    return checkpoint === null ? null : `v=svc-tindex.v1;e=b64;d=${checkpoint}`;
  }
  const found = view.proof(SLUG, question.version);
  return found && `v=svc-tindex.v1;ds=${SLUG};ver=${found.version};e=b64;d=${found.base64}`;
}

/** @param now seconds. @returns null: no data */
export function datasetText(
  view: Pick<DatasetView, 'manifest' | 'identity'>,
  question: RegistryQuestion,
  now: number,
): string | null {
  if (question.operation === 'manifest') {
    const manifest = view.manifest(SLUG, question.version);
    return manifest === null ? null : manifestText(manifest);
  }
  const { item } = question;
  const holds = ({ from, to }: ItemFacts): boolean =>
    (from === null || from <= now) && (to === null || now < to);
  const found = view.identity(SLUG, item).find(holds);
  if (found === undefined) return null;
  const { issuer, brand, cc, type } = found;
  return `v=svc-id.v1;ds=${SLUG};k=${item};issuer=${issuer};brand=${brand};cc=${cc};type=${type}`;
}

function manifestText({
  version,
  license,
  provenance,
  sha256,
  url,
  attsig,
  attkid,
  atts,
}: SignedManifest): string {
  const stated = `ver=${version};lic=${license};prov=${provenance};sha256=${sha256};url=${url}`;
  return `v=svc-attest.v1;ds=${SLUG};${stated};att=attested;attsig=${attsig};attkid=${attkid};atts=${atts}`;
}
