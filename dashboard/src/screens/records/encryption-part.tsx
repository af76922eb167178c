import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Checkbox, TextArea } from '../../ui/field.tsx';
import { Time } from '../../ui/time.tsx';
import type { Kit } from './encryption.tsx';
import { draftOf } from './record-draft.ts';

/** What the module of encryption takes from here: if it imported them, the build would cut the scripts of every page into more files. */
const KIT: Kit = { Checkbox, TextArea, Time, draftOf };

type Encryption = typeof import('./encryption.tsx');

export interface EncryptionPartProps {
  readonly children: (module: Encryption, kit: Kit) => VNode;
}

/** Loads the module of encryption when it appears. */
export function EncryptionPart({ children }: EncryptionPartProps) {
  const [module, setModule] = useState<Encryption | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => void import('./encryption.tsx').then(setModule, setError), []);
  if (module !== null) return children(module, KIT);
  return error === undefined ? null : <ErrorNote error={error} />;
}
