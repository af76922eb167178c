import { useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { invalidate } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { type NameFault, nameFault } from './name-rules.ts';

export interface NewNamespaceDialogProps {
  readonly onCreated: (namespace: NamespaceResource) => void;
  readonly onClose: () => void;
}

/** Makes a namespace. The rules of its name are checked as it is typed. */
export function NewNamespaceDialog({ onCreated, onClose }: NewNamespaceDialogProps) {
  const { value: meta } = useMeta();
  const [name, setName] = useState('');
  const [wasTried, setTried] = useState(false);
  const { isBusy, error, run } = useAction();
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
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (fault === null) run(create);
        }}
      >
        <TextField
          label={t('namespaces.name')}
          value={name}
          onInput={setName}
          error={isShown ? faultText(fault, limits) : null}
          help={t('namespaces.nameHelp')}
          isRequired
          isCode
          hasFocus
        />
        {error === undefined ? null : <ErrorNote error={error} />}
        <div class="actions">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" tone="primary" isBusy={isBusy}>
            {t('namespaces.create')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function faultText(fault: NameFault, limits: Readonly<Record<string, number>>): string {
  const { namespace_name_min: min = 3, namespace_name_max: max = 32 } = limits;
  if (fault === 'length') return t('namespaces.faultLength', { min, max });
  if (fault === 'letter') return t('namespaces.faultLetter');
  return fault === 'form' ? t('namespaces.faultForm') : t('namespaces.faultAuth');
}
