import { createHash } from 'node:crypto';

export type AlarmCode =
  | 'two_histories'
  | 'shrunk'
  | 'version_replaced'
  | 'signature_wrong'
  | 'key_reused'
  | 'served_not_logged'
  | 'logged_not_served'
  | 'older_latest'
  | 'stale'
  | 'entry_wrong'
  | 'checkpoint_untrusted'
  | 'unchecked';

export interface Alarm {
  readonly code: AlarmCode;
  /** Null: it concerns the whole log. */
  readonly slug: string | null;
  readonly text: string;
  /** Files. */
  readonly evidence: Readonly<Record<string, string | Uint8Array>>;
}

export function alarm(
  code: AlarmCode,
  text: string,
  evidence: Alarm['evidence'],
  slug: string | null = null,
): Alarm {
  return { code, slug, text, evidence };
}

/** Of the folder of its evidence. An alarm that comes at every round has one folder, although the head that is held changes. */
export function evidenceName({ code, text, evidence }: Alarm): string {
  const hash = createHash('sha256').update(text);
  for (const [file, content] of Object.entries(evidence))
    if (file !== 'held.checkpoint') hash.update(`\n${file}\n`).update(content);
  return `${code}-${hash.digest('hex').slice(0, 16)}`;
}
