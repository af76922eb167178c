import { milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import type { Arrival } from './arrival.ts';

/** What is said of a write, step by step. */
export function arrivalParts({ written, inView, answered, ended }: Arrival): readonly string[] {
  const parts = [
    written === null ? t('records.writing') : t('records.written', { ms: milliseconds(written) }),
  ];
  const missing: string[] = [];
  for (const { node, ms, isAtMost, late } of inView) {
    if (ms === null) {
      if (late) parts.push(t('records.inViewLate', { node }));
      else missing.push(node);
      continue;
    }
    const values = { node, ms: milliseconds(ms) };
    if (inView.length === 1) parts.push(t('records.inView', values));
    else parts.push(t(isAtMost ? 'records.inViewWithin' : 'records.inViewOf', values));
  }
  const nodes = missing.join(', ');
  if (answered !== null) parts.push(t('records.answered', { ms: milliseconds(answered) }));
  else if (ended === null) parts.push(t('records.asking'));
  if (ended === null && nodes !== '') parts.push(t('records.inViewMissing', { nodes }));
  if (ended === 'late') {
    if (nodes !== '') parts.push(t('records.inViewNever', { nodes }));
    if (answered === null) parts.push(t('records.arrivalLate'));
  }
  if (ended === 'refused') parts.push(t('records.arrivalRefused'));
  if (ended === 'no-dns') parts.push(t('records.arrivalNoDns'));
  return parts;
}
