/** Answers of the dataset registry. Existence (denial) follows from the same outcome. */
import { keyTxt } from '../../../protocol/datasets/attestation.ts';
import { identityTxt } from '../../../protocol/datasets/item.ts';
import { manifestTxt } from '../../../protocol/datasets/manifest.ts';
import { type DatasetQuery, parseDatasetQuery } from '../../../protocol/datasets/query.ts';
import { SETTLED_MS, type Selection, selectWindow } from '../../../protocol/datasets/window.ts';
import { DATASETS_RESOURCE } from '../../../protocol/names/labels.ts';
import { FOREVER, type Outcome } from '../../../protocol/query/outcome.ts';
import type { DatasetView } from '../../../view/datasets/view.ts';
import type { PublicService } from './public-service.ts';

export interface DatasetSettings {
  /** Whether identity queries may name an instant. */
  readonly asOf: boolean;
}

/** Seconds, of manifests and public keys. */
const MANIFEST_TTL = 3600;

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const REFUSED: Outcome = { kind: 'refused', until: FOREVER };

/** The registry as a service of `public.v1`. It has no schema: `info.datasets` is refused. */
export function datasetService(view: DatasetView, settings: DatasetSettings): PublicService {
  return {
    resource: DATASETS_RESOURCE,
    info: () => REFUSED,
    answer({ operation, params }, now) {
      if (operation !== 'manifest' && operation !== 'identity') return REFUSED;
      return answerOf(parseDatasetQuery(operation, params, settings), view, now);
    },
  };
}

function answerOf(asked: DatasetQuery, view: DatasetView, now: number): Outcome {
  switch (asked.kind) {
    case 'malformed':
      return { kind: 'malformed', code: 'E005', cause: asked.cause };
    case 'manifest': {
      const manifest = view.manifest(asked.slug, asked.version);
      return manifest === null ? MISSING : lasting([manifestTxt(manifest)]);
    }
    case 'keys':
      return lasting(view.keys().map(keyTxt));
    case 'identity': {
      const { slug, item, asOf } = asked;
      const selection = selectWindow(view.identity(slug, item), asOf, now);
      if (selection.kind === 'none') return { kind: 'empty', reason: 'missing', until: endOf(selection) };
      const text = Buffer.from(identityTxt(slug, { ...selection.window, item }));
      return { kind: 'answer', text, ttl: selection.ttl, until: answerEnd(selection, now) };
    }
  }
}

/** An answer that only a change makes untrue; one TXT record for each text. */
function lasting(texts: readonly string[]): Outcome {
  const [text, ...more] = texts.map((each) => Buffer.from(each));
  if (text === undefined) return MISSING;
  return { kind: 'answer', text, more, ttl: MANIFEST_TTL, until: FOREVER };
}

/** The millisecond at which time alone may select another window. */
function endOf({ until }: { readonly until: number | null }): number {
  return until === null ? FOREVER : until * 1000;
}

/**
 * A kept answer has one TTL: it is made again when that would reach past the end of its window, and when the window has
 * settled, since the TTL grows then.
 */
function answerEnd(
  selection: Extract<Selection<{ from: number | null; to: number | null }>, { kind: 'window' }>,
  now: number,
): number {
  const { to } = selection.window;
  const end = endOf(selection);
  if (to === null) return end;
  const change = to * 1000 > now ? to * 1000 - selection.ttl * 1000 : to * 1000 + SETTLED_MS;
  return change < now ? end : Math.min(end, change + 1);
}
