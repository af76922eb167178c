import type { ScreenProps } from '../../app/routes.ts';
import { session } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { Page } from '../../ui/page.tsx';

export function NotFoundScreen({ params }: ScreenProps) {
  return (
    <Page title={t('notFound.title')}>
      <p>{t('notFound.text', { path: params.path ?? '' })}</p>
      <p class="actions">
        {session.value.phase === 'out' ? (
          <>
            <a href="/">{t('notFound.first')}</a>
            <a href="/services">{t('nav.services')}</a>
            <a href="/playground">{t('nav.playground')}</a>
            <a href="/docs">{t('nav.docs')}</a>
          </>
        ) : (
          <a href="/">{t('notFound.home')}</a>
        )}
      </p>
    </Page>
  );
}
