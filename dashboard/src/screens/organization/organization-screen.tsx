import { useState } from 'preact/hooks';
import type { OrganizationResource, UserResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invitation } from '../../app/invitation.ts';
import { useMeta } from '../../app/meta.ts';
import { switchedOrganization, useUser } from '../../app/session.ts';
import { useResource } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Select } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { AcceptInvitation, Invite, NewOrganization, Rename } from './dialogs.tsx';
import { Ending } from './ending.tsx';
import { Invitations, Members, useMembers } from './members.tsx';

export type Open = 'accept' | 'dissolve' | 'invite' | 'leave' | 'new' | 'rename' | null;

export function OrganizationScreen() {
  const meta = useMeta();
  const user = useUser();
  const isOn = meta.value?.features.organizations;
  if (isOn === undefined) {
    return (
      <Page title={t('organization.title')}>
        {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : <Loading />}
      </Page>
    );
  }
  if (!isOn) {
    return (
      <Page title={t('organization.title')}>
        <EmptyState title={t('organization.offTitle')} text={t('organization.offText')} />
      </Page>
    );
  }
  return <Organizations user={user} />;
}

function Organizations({ user }: { readonly user: UserResource }) {
  const all = useResource('organizations', (signal) => api.organizations.list({ signal }));
  const [chosen, setOpen] = useState<Open>(null);
  const open = chosen ?? (invitation.value === null ? null : 'accept');
  const action = useAction();
  const actsFor = user.organization?.id ?? '';
  const current = all.value?.find(({ id }) => id === actsFor);
  const close = (): void => {
    setOpen(null);
    invitation.value = null;
  };
  const switchTo = async (id: string | null): Promise<void> => {
    await api.organizations.actFor(id);
    switchedOrganization(user.id, id);
  };
  return (
    <Page
      title={t('organization.title')}
      actions={
        <>
          {current?.role === 'owner' ? (
            <Button tone="primary" onClick={() => setOpen('invite')}>
              {t('organization.invite')}
            </Button>
          ) : null}
          <Button onClick={() => setOpen('new')}>{t('organization.new')}</Button>
          <Button onClick={() => setOpen('accept')}>{t('organization.accept')}</Button>
        </>
      }
    >
      {all.error === undefined ? null : <ErrorNote error={all.error} again={all.again} />}
      {action.error === undefined ? null : <ErrorNote error={action.error} />}
      {all.state === 'loading' ? <Loading /> : null}
      {all.value === undefined ? null : (
        <Switcher
          all={all.value}
          user={user}
          isBusy={action.isBusy}
          onSwitch={(id) => action.run(() => switchTo(id))}
        />
      )}
      {all.value?.length === 0 ? (
        <EmptyState title={t('organization.emptyTitle')} text={t('organization.emptyText')} />
      ) : null}
      {current === undefined ? null : <Current organization={current} user={user} onOpen={setOpen} />}
      {open === 'new' ? <NewOrganization onClose={close} onMade={({ id }) => switchTo(id)} /> : null}
      {open === 'accept' ? <AcceptInvitation onClose={close} onJoined={({ id }) => switchTo(id)} /> : null}
      {current !== undefined && open === 'invite' ? <Invite organization={current} onClose={close} /> : null}
      {current !== undefined && open === 'rename' ? <Rename organization={current} onClose={close} /> : null}
      {current !== undefined && (open === 'leave' || open === 'dissolve') ? (
        <Ending organization={current} user={user} way={open} onClose={close} />
      ) : null}
    </Page>
  );
}

interface SwitcherProps {
  readonly all: readonly OrganizationResource[];
  readonly user: UserResource;
  readonly isBusy: boolean;
  readonly onSwitch: (id: string | null) => void;
}

/** What records, namespaces, webhooks and keys of the whole dashboard are those of. */
function Switcher({ all, user, isBusy, onSwitch }: SwitcherProps) {
  const own = { value: '', text: t('organization.own', { email: user.email }) };
  return (
    <div class="card">
      <Select
        label={t('organization.one')}
        help={t('organization.switchHelp')}
        value={user.organization?.id ?? ''}
        isDisabled={isBusy}
        options={[own, ...all.map(({ id, name }) => ({ value: id, text: name }))]}
        onChange={(id) => onSwitch(id === '' ? null : id)}
      />
    </div>
  );
}

interface CurrentProps {
  readonly organization: OrganizationResource;
  readonly user: UserResource;
  readonly onOpen: (open: Open) => void;
}

function Current({ organization, user, onOpen }: CurrentProps) {
  const isOwner = organization.role === 'owner';
  const members = useMembers(organization.id);
  const isLastOwner = isOwner && members.value?.filter(({ role }) => role === 'owner').length === 1;
  return (
    <>
      <section class="stack" aria-labelledby="members">
        <div class="page-head">
          <h2 id="members">{t('organization.members', { name: organization.name })}</h2>
          <div class="actions">
            {isOwner ? (
              <Button tone="quiet" onClick={() => onOpen('rename')}>
                {t('organization.rename')}
              </Button>
            ) : null}
            {isLastOwner ? null : (
              <Button tone="quiet" onClick={() => onOpen('leave')}>
                {t('organization.leave')}
              </Button>
            )}
            {isOwner ? (
              <Button tone="quiet" onClick={() => onOpen('dissolve')}>
                {t('organization.dissolve')}
              </Button>
            ) : null}
          </div>
        </div>
        <p class="dim">
          {t('organization.about', { tier: organization.tier })}{' '}
          {isLastOwner ? t('organization.lastOwner') : ''}
        </p>
        <Members organization={organization} userId={user.id} />
      </section>
      {isOwner ? <Invitations organization={organization} /> : null}
    </>
  );
}
