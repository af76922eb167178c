import { useState } from 'preact/hooks';
import type {
  InvitationResource,
  MemberResource,
  OrganizationResource,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invalidate, type Resource, useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';

const ROLES = { owner: 'organization.owner', member: 'organization.member' } as const;

interface MembersProps {
  readonly organization: OrganizationResource;
  /** Of the reader. */
  readonly userId: string;
}

interface Change {
  readonly member: MemberResource;
  readonly kind: 'remove' | 'owner' | 'member';
}

export function useMembers(id: string): Resource<readonly MemberResource[]> {
  return useResource(`members ${id}`, (signal) => api.organizations.members(id, { signal }));
}

export function Members({ organization, userId }: MembersProps) {
  const { id, role } = organization;
  const members = useMembers(id);
  const [change, setChange] = useState<Change | null>(null);
  if (members.state === 'failed') return <ErrorNote error={members.error} again={members.again} />;
  if (members.state === 'loading') return <Loading />;
  const columns: readonly Column<MemberResource>[] = [
    {
      id: 'email',
      head: t('organization.email'),
      isRowHeader: true,
      width: 'minmax(9rem, 2fr)',
      cell: ({ email, user_id }) => (
        <>
          {email} {user_id === userId ? <Badge text={t('organization.you')} /> : null}
        </>
      ),
    },
    { id: 'role', head: t('organization.role'), width: '6rem', cell: (one) => t(ROLES[one.role]) },
    {
      id: 'since',
      head: t('organization.since'),
      width: '8rem',
      cell: ({ created_at: at }) => <Time at={at} />,
    },
  ];
  const actions = (member: MemberResource) =>
    member.user_id === userId ? null : (
      <>
        <Button
          tone="quiet"
          onClick={() => setChange({ member, kind: member.role === 'owner' ? 'member' : 'owner' })}
        >
          {t(member.role === 'owner' ? 'organization.makeMember' : 'organization.makeOwner')}
        </Button>
        <Button tone="quiet" onClick={() => setChange({ member, kind: 'remove' })}>
          {t('organization.remove')}
        </Button>
      </>
    );
  return (
    <>
      <DataTable<MemberResource>
        label={t('organization.table')}
        columns={columns}
        rows={members.value}
        rowKey={({ user_id }) => user_id}
        rowName={({ email }) => email}
        {...(role === 'owner' && { actions, actionsWidth: '15rem' })}
      />
      {change === null ? null : (
        <ChangeMember organization={organization} {...change} onClose={() => setChange(null)} />
      )}
    </>
  );
}

const CHANGES = {
  remove: ['organization.removeTitle', 'organization.remove', 'organization.removeText'],
  owner: ['organization.ownerTitle', 'organization.makeOwner', 'organization.ownerText'],
  member: ['organization.memberTitle', 'organization.makeMember', 'organization.memberText'],
} as const;

interface ChangeMemberProps extends Change {
  readonly organization: OrganizationResource;
  readonly onClose: () => void;
}

function ChangeMember({ organization: { id, name }, member, kind, onClose }: ChangeMemberProps) {
  const [title, confirm, text] = CHANGES[kind];
  return (
    <ConfirmDialog
      title={t(title, { email: member.email, name })}
      confirm={t(confirm)}
      tone={kind === 'remove' ? 'danger' : 'primary'}
      onConfirm={async () => {
        if (kind === 'remove') await api.organizations.removeMember(id, member.user_id);
        else await api.organizations.changeRole(id, member.user_id, kind);
        invalidate(`members ${id}`);
        invalidate('organizations');
      }}
      onClose={onClose}
    >
      <p>{t(text)}</p>
    </ConfirmDialog>
  );
}

const INVITATION_COLUMNS: readonly Column<InvitationResource>[] = [
  {
    id: 'email',
    head: t('organization.email'),
    isRowHeader: true,
    width: 'minmax(9rem, 2fr)',
    cell: ({ email }) => email,
  },
  { id: 'role', head: t('organization.role'), width: '6rem', cell: ({ role }) => t(ROLES[role]) },
  { id: 'ends', head: t('organization.ends'), width: '8rem', cell: ({ expires_at: at }) => <Time at={at} /> },
];

/** Those that were not accepted yet. Only an owner reads them. */
export function Invitations({ organization: { id } }: { readonly organization: OrganizationResource }) {
  const invitations = useResource(`invitations ${id}`, (signal) =>
    api.organizations.invitations(id, { signal }),
  );
  const [asked, setAsked] = useState<InvitationResource | null>(null);
  if (invitations.state === 'failed')
    return <ErrorNote error={invitations.error} again={invitations.again} />;
  if (invitations.state === 'loading' || invitations.value.length === 0) return null;
  return (
    <section class="stack" aria-labelledby="invitations">
      <h2 id="invitations">{t('organization.invitations')}</h2>
      <DataTable<InvitationResource>
        label={t('organization.invitations')}
        columns={INVITATION_COLUMNS}
        rows={invitations.value}
        rowKey={(one) => one.id}
        rowName={({ email }) => email}
        actionsWidth="9rem"
        actions={(one) => (
          <Button tone="quiet" onClick={() => setAsked(one)}>
            {t('organization.withdraw')}
          </Button>
        )}
      />
      {asked === null ? null : (
        <ConfirmDialog
          title={t('organization.withdrawTitle', { email: asked.email })}
          confirm={t('organization.withdraw')}
          onConfirm={async () => {
            await api.organizations.withdrawInvitation(id, asked.id);
            invalidate(`invitations ${id}`);
          }}
          onClose={() => setAsked(null)}
        >
          <p>{t('organization.withdrawText')}</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
