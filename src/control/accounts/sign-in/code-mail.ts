import { LIMITS } from '../../../base/limits.ts';
import type { Mail } from '../../../outbound/mailer.ts';

/** Where another number of six digits would be mistaken for the code. */
const SIX_DIGITS = /\d{6}/;

/** The mail with a code. It has no other number of six digits. @param publicUrl where the user signs in */
export function codeMail(to: string, code: string, publicUrl: string): Mail {
  const where = SIX_DIGITS.test(publicUrl) ? '' : ` at ${publicUrl}`;
  return {
    to,
    subject: 'Your sign-in code',
    text: [
      `Your code to sign in${where}:`,
      '',
      `  ${code}`,
      '',
      `It is valid for ${LIMITS.signInCodeMinutes} minutes can be used once, and works where it was asked for.`,
      '',
      'Did you not ask for it? Then ignore this mail: without the code nobody can sign in. Give it to no one.',
      '',
    ].join('\n'),
  };
}

/** The line for the operator of a server without mail. The code comes first: an address may have digits too. */
export function codeLine(email: string, code: string): string {
  return `${code} is the sign-in code of ${email}, valid for ${LIMITS.signInCodeMinutes} minutes. Set UQRP_SMTP_URL to send it by mail.\n`;
}
