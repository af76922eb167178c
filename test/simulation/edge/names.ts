/** Names and tokens that customers use, as those know them who ask. Few, so that questions and changes meet. */
import type { ChangeBody } from '../../../src/protocol/change.ts';
import { queryTokenDigest, spellQueryToken } from '../../../src/protocol/query/query-token.ts';
import type { Random } from '../random.ts';
import {
  anyDatasetQuestion,
  DATASETS_NAME,
  DATASETS_NAMESPACE,
  datasetQuestions,
} from './dataset-answers.ts';
import type { AskedName } from './observation.ts';

export interface Names {
  /** Of customers, whether they exist now or not. */
  readonly namespaces: readonly string[];
  keysOf(namespace: string): readonly string[];
  /** Tokens in plain text that were minted once, valid or not. */
  tokensOf(namespace: string): readonly string[];
  /** Versions of the dataset that the operator has tried to publish; null: no operator does. */
  readonly datasetVersions: number | null;
  /** There is a transparency log. */
  readonly isLogged: boolean;
}

const STRANGERS_TOKEN = spellQueryToken(new Uint8Array(32).fill(7));
const TYPES: readonly AskedName['type'][] = ['A', 'NSEC', 'SOA', 'DNSKEY'];

/** Of the questions, where there is a dataset. */
const OF_DATASETS = 0.3;

/** Any question. */
export function anyQuestion(names: Names, random: Random): AskedName {
  if (names.datasetVersions !== null && random.chance(OF_DATASETS)) return aboutDatasets(names, random);
  const namespace = random.chance(0.03) ? 'nobody' : random.pick(names.namespaces);
  const key = random.chance(0.05)
    ? `none.doc.${namespace}.v1`
    : pickOr(names.keysOf(namespace), `doc.${namespace}.v1`, random);
  return question(key, namespace, pickToken(names, namespace, random), random);
}

/** A question whose answer this change may change; null: there is none. */
export function questionAbout(change: ChangeBody, names: Names, random: Random): AskedName | null {
  if (!('namespace' in change)) return null;
  const { namespace } = change;
  if (namespace === DATASETS_NAMESPACE) return aboutDatasets(names, random);
  const keys = names.keysOf(namespace);
  const tokens = names.tokensOf(namespace);
  if (keys.length === 0) return null;
  const key = 'key' in change ? change.key : random.pick(keys);
  const token =
    'digest' in change
      ? tokens.find((each) => queryTokenDigest(each) === change.digest)
      : pickOr(tokens, null, random);
  return question(key, namespace, token ?? null, random);
}

/** A question for each key of a namespace that has a token, with its latest: those that may count as usage. */
export function privateQuestions(names: Names): readonly AskedName[] {
  return names.namespaces.flatMap((namespace) => {
    const token = names.tokensOf(namespace).at(-1);
    if (token === undefined) return [];
    return names
      .keysOf(namespace)
      .map((key): AskedName => ({ ...PLAINLY, key, namespace, token, dataset: null }));
  });
}

/** Every question about the dataset. */
export function allOfDatasets({ datasetVersions, isLogged }: Names): readonly AskedName[] {
  if (datasetVersions === null) return [];
  return datasetQuestions(datasetVersions, isLogged).map(
    (dataset): AskedName => ({ ...PLAINLY, ...REGISTRY, dataset }),
  );
}

const PLAINLY = { type: 'TXT', transport: 'tcp', dnssecOk: false } as const;
const REGISTRY = { key: DATASETS_NAME, namespace: DATASETS_NAMESPACE, token: null } as const;

function aboutDatasets({ datasetVersions, isLogged }: Names, random: Random): AskedName {
  const dataset = anyDatasetQuestion(datasetVersions ?? 0, isLogged, random);
  return { ...question(DATASETS_NAME, DATASETS_NAMESPACE, null, random), dataset };
}

function question(key: string, namespace: string, token: string | null, random: Random): AskedName {
  const type = random.chance(0.9) ? 'TXT' : random.pick(TYPES);
  const transport = random.chance(0.7) ? 'udp' : 'tcp';
  return { key, namespace, token, type, transport, dnssecOk: random.chance(0.3), dataset: null };
}

function pickToken(names: Names, namespace: string, random: Random): string | null {
  const place = random.next();
  if (place < 0.1) return null;
  if (place < 0.15) return STRANGERS_TOKEN;
  const of = place < 0.2 ? random.pick(names.namespaces) : namespace;
  return pickOr(names.tokensOf(of), null, random);
}

function pickOr<T, Other>(values: readonly T[], other: Other, random: Random): T | Other {
  return values.length === 0 ? other : random.pick(values);
}
