import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';

export interface SuspendedNoteProps {
  readonly namespace: NamespaceResource | undefined;
}

/** Why a namespace has no forms. Nothing where it is not suspended. */
export function SuspendedNote({ namespace }: SuspendedNoteProps) {
  if (namespace?.suspended !== true) return null;
  return <p class="note warn">{t('namespaces.suspendedText', { name: namespace.name })}</p>;
}
