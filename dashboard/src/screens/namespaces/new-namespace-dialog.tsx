import { useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useDraft } from '../../data/drafts.ts';
import { invalidate } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { TextField } from '../../ui/field.tsx';
import { type NameFault, nameFault } from './name-rules.ts';

export interface NewNamespaceDialogProps {
  readonly onCreated: (namespace: NamespaceResource) => void;
  readonly onClose: () => void;
}

/** Makes a namespace. The rules of its name are checked as it is typed. */
export function NewNamespaceDialog({ onCreated, onClose }: NewNamespaceDialogProps) {
  const { value: meta } = useMeta();
  const draft = useDraft('namespace', { name: '' });
  const { name } = draft.value;
  const [wasTried, setTried] = useState(false);
  const limits = meta?.limits ?? {};
  const fault = nameFault(name, limits);
  // A short name is not wrong while it is being typed.
  const isShown = fault !== null && (wasTried || (name !== '' && !(fault === 'length' && name.length < 3)));
  const create = async (): Promise<void> => {
    const made = await api.namespaces.create(name);
    invalidate('namespaces');
    onCreated(made);
  };
  return (
    <Dialog title={t('namespaces.new')} onClose={onClose}>
      <DialogForm
        submit={t('namespaces.create')}
        draft={draft}
        onSubmit={() => {
          setTried(true);
          return fault === null ? create() : null;
        }}
        hasOwnChecks
      >
        <TextField
          label={t('namespaces.name')}
          word="namespace"
          value={name}
          onInput={(typed) => draft.change({ name: typed })}
          error={isShown ? faultText(fault, limits) : null}
          help={t('namespaces.nameHelp')}
          isRequired
          isCode
          hasFocus
        />
      </DialogForm>
    </Dialog>
  );
}

function faultText(fault: NameFault, limits: Readonly<Record<string, number>>): string {
  const { namespace_name_min: min = 3, namespace_name_max: max = 32 } = limits;
  if (fault === 'length') return t('namespaces.faultLength', { min, max });
  if (fault === 'letter') return t('namespaces.faultLetter');
  return fault === 'form' ? t('namespaces.faultForm') : t('namespaces.faultAuth');
}
