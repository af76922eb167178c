/** The manual page uqrp(1) in the man macros of roff. */
import { actionsOf, type CommandFacts, type OptionFacts } from '../src/cli/completion/tree.ts';

export interface Setting {
  readonly name: string;
  readonly meaning: string;
  readonly standard: string | null;
}

interface Manual {
  readonly tree: CommandFacts;
  readonly settings: readonly Setting[];
  readonly version: string;
  /** Of the last change: 2026-11-22. */
  readonly date: string;
}

export function manualPage({ tree, settings, version, date }: Manual): string {
  const lines = [
    `.TH UQRP 1 "${date}" "uqrp ${version}" "User Commands"`,
    '.\\" Written by npm run docs.',
    '.SH NAME',
    `uqrp \\- ${inText(tree.about)}`,
    '.SH SYNOPSIS',
    '.B uqrp',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    paragraph('uqrp stores small records that are written over REST, and answers them over DNS.'),
    '.PP',
    paragraph(
      'Commands work on the data directory of a server, which may be running. They read the same variables as the server: run them as its user, with its settings.',
    ),
    '.PP',
    paragraph(
      'The Debian package has `uqrp-admin` for that: as root, or with sudo, `uqrp-admin COMMAND` reads /etc/uqrp/uqrp.env and runs uqrp as the user uqrp. With `@NAME` before the command it does so for the node of uqrp@NAME.service.',
    ),
    '.SH COMMANDS',
    ...actionsOf(tree).flatMap(command),
    '.SH OPTIONS',
    'Every command takes:',
    ...tree.options.flatMap(option),
    ...row('-h, --help', 'show the help of a command'),
    '.SH ENVIRONMENT',
    ...settings.flatMap(({ name, meaning, standard }) =>
      row(name, `${meaning}.${standard === null ? '' : ` Default: ${standard}.`}`),
    ),
    '.SH FILES',
    ...row(
      '/etc/uqrp/uqrp.env',
      'settings of the server of uqrp.service; of a node, /etc/uqrp/NAME.env. Only root may read them.',
    ),
    ...row('/var/lib/uqrp', 'data of that server, for the user uqrp alone; of a node, /var/lib/uqrp-NAME'),
    ...row('/var/lib/uqrp-backups', 'what uqrp-backup.service writes'),
    '.SH EXIT STATUS',
    ...row('0', 'done'),
    ...row('1', 'failed, or answered with an error'),
    ...row('2', 'wrong command line or configuration'),
    '.SH SEE ALSO',
    '.BR dig (1)',
  ];
  return `${lines.join('\n')}\n`;
}

function command({ path, about, options, arguments: args, notes }: CommandFacts): string[] {
  const given = args.map(({ name, isRequired }) => (isRequired ? `<${name}>` : `[${name}]`));
  const usage = ['uqrp', ...path, ...given, ...(options.length > 0 ? ['[options]'] : [])].join(' ');
  const examples = notes.replace(/^Examples:\n/, '').split('\n');
  const shown = [
    '.PP',
    'Examples:',
    '.PP',
    '.nf',
    '.RS 4',
    ...examples.map((one) => inText(one.trim())),
    '.RE',
    '.fi',
  ];
  return [
    `.SS ${inText(usage)}`,
    paragraph(`${about}.`),
    ...args.flatMap((each) => row(each.name, each.about)),
    ...options.flatMap(option),
    ...(notes === '' ? [] : shown),
  ];
}

function option({ flags, about }: OptionFacts): string[] {
  return row(flags, about);
}

function row(term: string, text: string): string[] {
  return text === '' ? [] : ['.TP', `.B ${inText(term)}`, paragraph(text)];
}

function paragraph(text: string): string {
  return inText(text).replace(/`([^`]+)`/g, '\\fB$1\\fR');
}

/** roff reads a backslash, a line that begins with a point or an apostrophe, and a hyphen that would be set as a dash. */
function inText(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq')
    .replace(/^\./, '\\&.');
}
