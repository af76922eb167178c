import { LIMITS } from '../../base/limits.ts';
import type { InvitationMail } from './invitations.ts';

/** A mail of plain text. The name of the organization is not in the subject, because a stranger may have chosen it. */
export function invitationMail({ to, organization, token }: InvitationMail, publicUrl: string) {
  return {
    to,
    subject: 'Invitation to an organization',
    text: [
      `You are invited to the organization "${organization}" at ${publicUrl}.`,
      '',
      `Sign in there with this address, and accept with this token, once and within ${LIMITS.invitationDays} days:`,
      '',
      `  ${token}`,
      '',
      'Do you not know the organization? Then ignore this mail.',
      '',
    ].join('\n'),
  };
}

/** The line for the operator of a server without mail. */
export function invitationLine({ to, token }: InvitationMail): string {
  return `${token} is an invitation of ${to}, valid for ${LIMITS.invitationDays} days. Set UQRP_SMTP_URL to send it by mail.\n`;
}
