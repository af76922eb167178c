import { useId } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Icon, UploadIcon } from './icon.tsx';

export interface FileFieldProps {
  readonly onFile: (file: File) => void;
  /** Name of the one that is chosen. */
  readonly name?: string | undefined;
  /** Endings of names, such as `.csv,.env`. */
  readonly accept?: string;
  readonly error?: string | null;
  /** Id of a text that describes it. */
  readonly describedBy?: string;
}

/** A button that chooses a file. The same file can be chosen again, after it was changed. */
export function FileField({ onFile, name, accept, error = null, describedBy }: FileFieldProps) {
  const id = useId();
  const texts = [describedBy, error === null ? undefined : `${id}-error`].filter((one) => one !== undefined);
  return (
    <div class="field">
      <div class="actions">
        <label class="button file-button">
          <Icon of={UploadIcon} /> {t(name === undefined ? 'ui.chooseFile' : 'ui.otherFile')}
          <input
            type="file"
            class="hidden"
            accept={accept}
            aria-invalid={error === null ? undefined : true}
            aria-describedby={texts.length === 0 ? undefined : texts.join(' ')}
            onChange={(event) => {
              const [file] = event.currentTarget.files ?? [];
              if (file !== undefined) onFile(file);
              event.currentTarget.value = '';
            }}
          />
        </label>
        {name === undefined ? null : <span class="code wrap">{name}</span>}
      </div>
      {error === null ? null : (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
    </div>
  );
}
