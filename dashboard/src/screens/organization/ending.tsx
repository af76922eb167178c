import type { OrganizationResource, UserResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { switchedOrganization } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';

export interface EndingProps {
  readonly organization: OrganizationResource;
  readonly user: UserResource;
  readonly way: 'leave' | 'dissolve';
  readonly onClose: () => void;
}

/** Leaves or dissolves the organization that the session acts for. */
export function Ending({ organization: { id, name }, user, way, onClose }: EndingProps) {
  const end = async (): Promise<void> => {
    // Sessions that act for it end with it: this one acts for the own account first.
    await api.organizations.actFor(null);
    try {
      if (way === 'leave') await api.organizations.removeMember(id, user.id);
      else await api.organizations.delete(id);
    } catch (error) {
      await api.organizations.actFor(id);
      throw error;
    }
    switchedOrganization(user.id, null);
  };
  const isLeave = way === 'leave';
  return (
    <ConfirmDialog
      title={t(isLeave ? 'organization.leaveTitle' : 'organization.dissolveTitle', { name })}
      confirm={t(isLeave ? 'organization.leave' : 'organization.dissolve')}
      {...(isLeave ? {} : { typed: name })}
      onConfirm={end}
      onClose={onClose}
    >
      <p>{t(isLeave ? 'organization.leaveText' : 'organization.dissolveText')}</p>
    </ConfirmDialog>
  );
}
