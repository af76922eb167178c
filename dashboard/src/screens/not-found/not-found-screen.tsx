import type { ScreenProps } from '../../app/routes.ts';
import { t } from '../../text/text.ts';
import { Page } from '../../ui/page.tsx';

export function NotFoundScreen({ params }: ScreenProps) {
  return (
    <Page title={t('notFound.title')}>
      <p>{t('notFound.text', { path: params.path ?? '' })}</p>
      <p>
        <a href="/">{t('notFound.home')}</a>
      </p>
    </Page>
  );
}
