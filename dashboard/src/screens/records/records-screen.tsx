import { t } from '../../text/text.ts';
import { Page } from '../../ui/page.tsx';
import { RecordsView } from './records-view.tsx';

/** `/records` */
export function RecordsScreen() {
  return (
    <Page title={t('records.title')}>
      <RecordsView namespace={null} />
    </Page>
  );
}
