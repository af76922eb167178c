import { setQuery } from '../../app/router.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-button.tsx';
import { CopyIcon, DeleteIcon, EditIcon, Icon } from '../../ui/icon.tsx';
import { Menu } from '../../ui/menu.tsx';
import type { RecordRow } from './record-pages.ts';

export interface RowActionsProps {
  readonly row: RecordRow;
  /** Nothing in its namespace can be written. */
  readonly isReadOnly: boolean;
  readonly onCopyDig: () => void;
  /** @param isInPlace in the list, not in a form */
  readonly onEdit: (isInPlace: boolean) => void;
  readonly onDelete: () => void;
}

/** What can be done with one record. */
export function RowActions({ row: { key }, isReadOnly, onCopyDig, onEdit, onDelete }: RowActionsProps) {
  const editValue = { text: t('records.editValue'), keys: 'e', run: () => onEdit(true) };
  return (
    <>
      <Button tone="quiet" onClick={onCopyDig} title={t('records.copyDig')}>
        <Icon of={CopyIcon} />
        {t('records.copyDig')}
      </Button>
      {isReadOnly ? null : (
        <>
          <Button tone="quiet" onClick={() => onEdit(false)}>
            <Icon of={EditIcon} />
            {t('records.edit')}
          </Button>
          <Button tone="quiet" onClick={onDelete}>
            <Icon of={DeleteIcon} />
            {t('ui.delete')}
          </Button>
        </>
      )}
      <Menu
        label={t('records.moreFor', { key })}
        items={[
          ...(isReadOnly ? [] : [editValue]),
          { text: t('records.copyKey'), run: () => void copyText(key) },
          { text: t('history.title'), run: () => setQuery({ history: key }) },
        ]}
      />
    </>
  );
}
