import type { MemberRole, OrganizationResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invitation } from '../../app/invitation.ts';
import { useUser } from '../../app/session.ts';
import { useDraft } from '../../data/drafts.ts';
import { invalidate } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';

interface OfOrganization {
  readonly organization: OrganizationResource;
  readonly onClose: () => void;
}

export function Invite({ organization: { id, name }, onClose }: OfOrganization) {
  const draft = useDraft<{ email: string; role: MemberRole }>(`invitation ${id}`, {
    email: '',
    role: 'member',
  });
  const { email, role } = draft.value;
  const send = async (): Promise<void> => {
    await api.organizations.invite(id, { email: email.trim(), role });
    invalidate(`invitations ${id}`);
    toast(t('organization.sent', { email: email.trim() }));
    onClose();
  };
  return (
    <Dialog title={t('organization.inviteTo', { name })} onClose={onClose}>
      <DialogForm submit={t('organization.send')} draft={draft} onSubmit={send}>
        <TextField
          label={t('organization.email')}
          value={email}
          onInput={(typed) => draft.change({ email: typed })}
          type="email"
          help={t('organization.emailHelp')}
          isRequired
          hasFocus
        />
        <Select<MemberRole>
          label={t('organization.role')}
          value={role}
          help={t('organization.roleHelp')}
          options={[
            { value: 'member', text: t('organization.member') },
            { value: 'owner', text: t('organization.owner') },
          ]}
          onChange={(chosen) => draft.change({ role: chosen })}
        />
      </DialogForm>
    </Dialog>
  );
}

export function Rename({ organization: { id, name: before }, onClose }: OfOrganization) {
  const draft = useDraft(`organization ${id}`, { name: before });
  const { name } = draft.value;
  return (
    <Dialog title={t('organization.rename')} onClose={onClose}>
      <DialogForm
        submit={t('organization.save')}
        draft={draft}
        onSubmit={async () => {
          // Somebody else may have renamed it meanwhile.
          if (draft.isChanged) await api.organizations.rename(id, name);
          invalidate('organizations');
          onClose();
        }}
      >
        <NameField name={name} onInput={(typed) => draft.change({ name: typed })} />
      </DialogForm>
    </Dialog>
  );
}

interface NewOrganizationProps {
  readonly onClose: () => void;
  readonly onMade: (made: OrganizationResource) => Promise<void>;
}

export function NewOrganization({ onClose, onMade }: NewOrganizationProps) {
  const draft = useDraft('organization', { name: '' });
  const { name } = draft.value;
  return (
    <Dialog title={t('organization.new')} onClose={onClose}>
      <DialogForm
        submit={t('organization.create')}
        draft={draft}
        onSubmit={async () => {
          await onMade(await api.organizations.create(name));
        }}
      >
        <p>{t('organization.newText')}</p>
        <NameField name={name} onInput={(typed) => draft.change({ name: typed })} />
      </DialogForm>
    </Dialog>
  );
}

function NameField(props: { readonly name: string; readonly onInput: (name: string) => void }) {
  return (
    <TextField
      label={t('organization.name')}
      value={props.name}
      onInput={props.onInput}
      isRequired
      hasFocus
    />
  );
}

interface AcceptProps {
  readonly onClose: () => void;
  readonly onJoined: (joined: OrganizationResource) => Promise<void>;
}

/** The token comes from the link of the mail, or is pasted. */
export function AcceptInvitation({ onClose, onJoined }: AcceptProps) {
  const { email } = useUser();
  const given = invitation.value;
  const draft = useDraft('accept', { token: '' });
  const token = given ?? draft.value.token.trim();
  return (
    <Dialog title={t('organization.accept')} onClose={onClose}>
      <DialogForm
        submit={t('organization.acceptIt')}
        onSubmit={async () => {
          const joined = await api.organizations.acceptInvitation(token);
          invitation.value = null;
          await onJoined(joined);
        }}
      >
        <p>{t('organization.acceptText', { email })}</p>
        {given !== null ? null : (
          <TextField
            label={t('organization.token')}
            value={draft.value.token}
            onInput={(typed) => draft.change({ token: typed })}
            help={t('organization.tokenHelp')}
            isRequired
            isCode
            hasFocus
          />
        )}
      </DialogForm>
    </Dialog>
  );
}
