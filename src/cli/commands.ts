import { Argument, type Command, Option } from 'commander';
import type { Clock } from '../base/time.ts';
import type { AuditOptions } from './actions/audit.ts';
import type { PutOptions } from './actions/put-input.ts';
import type { ReencryptOptions } from './actions/reencrypt.ts';
import type { RunOptions } from './actions/run.ts';
import { print } from './output.ts';
import type { Signals } from './signals.ts';

export interface ProgramOptions {
  readonly clock: Clock;
  /** Commands that run until a signal call this before they load anything. */
  readonly takeSignals: () => Signals;
  /** That of the shell, for programs that a command starts. */
  readonly umask?: number;
}

export interface Builder extends ProgramOptions {
  readonly program: Command;
  /** Adds a command below `parent`: `'tier <email> <tier>'`. */
  readonly command: (parent: Command, usage: string, about: string) => Command;
  readonly json: () => boolean;
}

/** A command that only contains subcommands. */
export function group(program: Command, name: string, about: string): Command {
  return program.command(name).description(about).helpCommand(false).exitOverride();
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

export function addCompletionCommand({ program, command }: Builder): void {
  command(program, 'completion', 'print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      examples(
        'source <(uqrp completion bash)        # or as a line of ~/.bashrc',
        'uqrp completion fish | source',
        'uqrp completion fish > ~/.config/fish/completions/uqrp.fish',
      ),
    )
    .action(async (shell: string) => {
      const { completionScript } = await import('./completion/shells.ts');
      const { factsOf } = await import('./completion/tree.ts');
      print(completionScript(shell, factsOf(program)));
    });
}

const loadPeople = () => import('./actions/operator.ts');

export function addOrganizationCommands({ program, command, clock, json }: Builder): void {
  const organization = group(program, 'organization', 'list, change and delete organizations');
  command(organization, 'list', 'list all organizations').action(async () =>
    (await loadPeople()).organizationList(clock, json()),
  );
  command(organization, 'tier', 'move an organization to another tier')
    .argument('<id>', 'id of the organization, as `organization list` prints it')
    .argument('<tier>', 'free, pro, team or enterprise')
    .addHelpText('after', examples('uqrp organization tier 0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77 team'))
    .action(async (id: string, tier: string) =>
      (await loadPeople()).organizationTier(clock, id, tier, json()),
    );
  command(organization, 'delete', 'delete an organization with everything that belongs to it')
    .argument('<id>', 'id of the organization, as `organization list` prints it')
    .action(async (id: string) => (await loadPeople()).organizationDelete(clock, id, json()));
}

const TIER = 'free, pro, team or enterprise';

export function addPeopleCommands({ program, command, clock, json }: Builder): void {
  const user = group(program, 'user', 'create and change accounts');
  command(user, 'create', 'create an account; makes the store where UQRP_DATA_DIR is set and there is none')
    .argument('<email>', 'mail address of the customer')
    .option('--tier <tier>', TIER, 'free')
    .addHelpText('after', examples('uqrp user create you@example.net --tier pro'))
    .action(async (email: string, options: { tier: string }) =>
      (await loadPeople()).userCreate(clock, email, options.tier, json()),
    );
  command(user, 'token', 'print a customer token (JWT) for the API, valid for 12 hours')
    .argument('<email>', 'mail address of the customer')
    .addHelpText('after', examples('TOKEN=$(uqrp user token you@example.net)'))
    .action(async (email: string) => (await loadPeople()).userToken(clock, email, json()));
  command(user, 'tier', 'move an account to another tier')
    .argument('<email>', 'mail address of the customer')
    .argument('<tier>', TIER)
    .action(async (email: string, tier: string) => (await loadPeople()).userTier(clock, email, tier, json()));
  command(user, 'list', 'list all accounts').action(async () => (await loadPeople()).userList(clock, json()));

  command(user, 'delete', 'delete an account with everything that is its own')
    .argument('<email>', 'mail address of the user')
    .action(async (email: string) => (await loadPeople()).userDelete(clock, email, json()));
  command(user, 'sessions', 'list the sessions of a user, or end them')
    .argument('<email>', 'mail address of the user')
    .option('--end', 'sign the user out everywhere')
    .action(async (email: string, options: { end?: boolean }) =>
      (await loadPeople()).userSessions(clock, email, options.end === true, json()),
    );

  const namespace = group(program, 'namespace', 'list namespaces, and set what only the operator may set');
  command(namespace, 'list', 'list all namespaces with their owners').action(async () =>
    (await loadPeople()).namespaceList(clock, json()),
  );
  command(namespace, 'public-read', 'let everyone read a namespace without a token')
    .argument('<name>', 'the namespace')
    .argument('<on|off>', 'on: open; off: private')
    .action(async (name: string, value: string) =>
      (await loadPeople()).namespaceFlag(clock, 'public-read', name, value, json()),
    );
  command(namespace, 'suspend', 'refuse every read of a namespace')
    .argument('<name>', 'the namespace')
    .argument('<on|off>', 'on: reads are refused; off: as before')
    .action(async (name: string, value: string) =>
      (await loadPeople()).namespaceFlag(clock, 'suspend', name, value, json()),
    );
}

const loadRecords = () => import('./actions/records.ts');
const KEY = ['<key>', '[<params>.]<resource>.<namespace>.<version>, for example greeting.acme.v1'] as const;

export function addRecordCommands({ program, command, clock, json }: Builder): void {
  command(
    program,
    'put',
    'store text or a file as a record, or replace the record with this key: over REST when UQRP_TOKEN is set, else in the store',
  )
    .argument(...KEY)
    .argument('[value]', 'the text; - reads standard input; behind -- it may begin with a hyphen')
    .option('--file <file>', 'the value is the content of this file, in place of the text')
    .option('--encrypt <file>', 'encrypt the value with the first key of this key file')
    .option('--sign <file>', 'sign the value with the Ed25519 key in this PEM file')
    .addOption(
      new Option(
        '--type <media-type>',
        'media type of the value (default: text/plain, of a file application/octet-stream)',
      ).conflicts(['encrypt', 'sign']),
    )
    .addOption(
      new Option(
        '--plain',
        'let DNS answers carry the text as it is (default: for a text that dig prints as it is)',
      ).conflicts(['b64', 'encrypt', 'sign']),
    )
    .option('--b64', 'let DNS answers carry the value in Base64 (default: for everything else)')
    .option(
      '--ttl <seconds>',
      'hint in the answer for how long its reader may keep the value; not the TTL of the DNS record (default: 300)',
    )
    .addOption(
      new Option('--expires <time>', 'delete the record after this time: 30s, 5m, 1h or 7d').conflicts([
        'expiresIn',
        'expiresAt',
      ]),
    )
    .addOption(
      new Option('--expires-in <seconds>', 'delete the record after this time').conflicts('expiresAt'),
    )
    .option('--expires-at <date>', 'delete the record at this time, for example 2027-01-01T00:00:00Z')
    .addOption(
      new Option(
        '--as <email>',
        'write to the store as this account; make the account and the namespace where they are missing',
      ).conflicts('user'),
    )
    .option('--user <email>', 'the same as --as')
    .option('--public-read', 'let everyone read the whole namespace without a token; writes to the store')
    .option(
      '--wait [time]',
      'with UQRP_TOKEN: wait until every DNS node has it, at most so long, such as 10s (default: 5s)',
    )
    .option('--api <url>', 'REST server for UQRP_TOKEN (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)')
    .addHelpText(
      'after',
      examples(
        "uqrp put greeting.acme.v1 'hello world' --user you@example.net --public-read",
        'uqrp put flags.acme.v1 --file flags.json --type application/json --expires 1h',
        'UQRP_TOKEN=$TOKEN uqrp put greeting.acme.v1 hello --api https://uqrp.example.com',
        'uqrp put db.env.shop.v1 - --encrypt shop.key < password',
      ),
    )
    .action(async (key: string, value: string | undefined, options: PutOptions) =>
      (await loadRecords()).putRecord(clock, key, value, options, json()),
    );
  command(program, 'delete', 'delete a record: over REST when UQRP_TOKEN is set, else in the store')
    .argument(...KEY)
    .option('--api <url>', 'REST server for UQRP_TOKEN (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)')
    .addHelpText('after', examples('uqrp delete greeting.acme.v1'))
    .action(async (key: string, options: { readonly api?: string }) =>
      (await loadRecords()).deleteRecordByKey(clock, key, options, json()),
    );
}

const loadEncryptionKeys = () => import('./actions/keys.ts');

export function addEncryptionCommands({ program, command, clock, json }: Builder): void {
  const key = group(program, 'key', 'keys that encrypt and sign values before they leave this machine');
  command(key, 'new', 'make a key file for encrypted values, or with --sign a signing key')
    .argument('[file]', 'the new file, for this user alone; --sign prints without one')
    .option('--sign', 'an Ed25519 key that signs values, as PEM')
    .addHelpText('after', examples('uqrp key new shop.key', 'uqrp key new --sign > seed.pem'))
    .action(async (file: string | undefined, options: { sign?: boolean }) =>
      (await loadEncryptionKeys()).keyNew(clock, file, options, json()),
    );
  command(key, 'add', 'put a new key before the others of a key file: it encrypts, all of them decrypt')
    .argument('<file>', 'the key file')
    .option('--from <file>', 'an existing key of 32 octets in Base64, such as one of the first form')
    .addHelpText('after', examples('uqrp key add shop.key'))
    .action(async (file: string, options: { from?: string }) =>
      (await loadEncryptionKeys()).keyAdd(clock, file, options, json()),
    );
  command(key, 'public', 'print the public key of a signing key, as PEM and as Base64')
    .argument('<file>', 'the signing key')
    .addHelpText('after', examples('uqrp key public seed.pem'))
    .action(async (file: string) => (await loadEncryptionKeys()).keyPublic(file, json()));
  command(
    program,
    'reencrypt',
    'encrypt the values of a namespace with the first key of a key file, over REST with UQRP_TOKEN',
  )
    .argument('<namespace>', 'the namespace; what is not encrypted stays as it is')
    .requiredOption('--key <file>', 'the key file, with the keys of before behind the first')
    .option('--dry-run', 'print what would be encrypted, and write nothing')
    .option('--api <url>', 'REST server (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)')
    .addHelpText('after', examples('uqrp key add shop.key && uqrp reencrypt shop --key shop.key'))
    .action(async (namespace: string, options: ReencryptOptions) =>
      (await import('./actions/reencrypt.ts')).reencryptNamespace(namespace, options, json()),
    );
}

/** Over REST, with UQRP_TOKEN. */
export function addRunCommand({ program, command, clock, umask }: Builder): void {
  command(
    program,
    'run',
    'run a program with the records of a namespace as variables: database-url.env.shop.v1 is DATABASE_URL; over REST with UQRP_TOKEN',
  )
    .usage('[options] -- <command...>')
    .argument('<command...>', 'behind --: the program and its arguments')
    .requiredOption('--namespace <name>', 'the namespace')
    .option('--resource <name>', 'only records of this resource, such as env')
    .option(
      '--max-age <time>',
      'while the server is away: start with the values of the last start if they are not older: 30s, 5m, 24h or 7d',
      '24h',
    )
    .option('--offline', 'start with the values of the last start, and ask no server')
    .addOption(
      new Option('--on-change <what>', 'what happens to the program when a record changes')
        .choices(['ignore', 'restart', 'hup'])
        .default('ignore'),
    )
    .option('--key <file>', 'decrypt the values with this key file: every value must be encrypted')
    .option('--allow-plain', 'with --key: accept text that is not encrypted')
    .option(
      '--signed-by <public-key>',
      'accept only values that this key has signed: its text, or a file with it; may be repeated',
      (one: string, before: readonly string[] | undefined) => [...(before ?? []), one],
    )
    .option('--allow <names>', 'allow these variables, separated by commas, such as PATH and NODE_OPTIONS')
    .option('--keep-token', 'pass UQRP_TOKEN on to the program')
    .option('--api <url>', 'REST server for UQRP_TOKEN (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)')
    .addHelpText(
      'after',
      examples(
        'UQRP_TOKEN=$TOKEN uqrp run --namespace shop --resource env -- ./server --port 8000',
        'uqrp run --namespace shop --on-change restart --max-age 7d -- node server.js',
      ),
    )
    .action(async (words: readonly string[], options: RunOptions) =>
      (await import('./actions/run.ts')).runProgram(clock, words, options, umask),
    );
}

/** Over REST with UQRP_TOKEN, or with --user from the store. */
export function addAuditCommand({ program, command, clock, json }: Builder): void {
  command(program, 'audit', 'show who did what to what belongs to an account, newest first')
    .option('--since <time>', 'only at or after this time, or so long ago: 30m, 12h, 7d')
    .option('--until <time>', 'only before this time, or so long ago')
    .option('--actor <actor>', 'only of this actor: a kind, an id, a mail address or the name of an API key')
    .option('--action <action>', "only this action, or a group such as 'record.*'")
    .option('--namespace <name>', 'only in this namespace')
    .option('--key <key>', 'only of the record with this key')
    .option('--limit <rows>', 'rows at most (default: 100)')
    .option(
      '--user <email>',
      'as the operator: from the store, kinds, actions and times of this account; the account sees that you looked',
    )
    .option('--names', 'with --user: ids and names too')
    .option('--api <url>', 'REST server for UQRP_TOKEN (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)')
    .addHelpText(
      'after',
      examples(
        "UQRP_TOKEN=$TOKEN uqrp audit --since 1d --action 'record.*'",
        'uqrp audit --user you@example.net --since 7d',
      ),
    )
    .action(async (options: AuditOptions) =>
      (await import('./actions/audit.ts')).showAudit(clock, options, json()),
    );
}

export function addServerCommands({ program, command, clock, json, takeSignals }: Builder): void {
  command(program, 'serve', 'run the server until SIGTERM or SIGINT; SIGHUP reads the certificate again')
    .option('--accept-new-store', 'start although the database is another than the one of the last start')
    .addHelpText(
      'after',
      examples('uqrp serve', 'UQRP_DATA_DIR=/var/lib/uqrp UQRP_HTTP_PORT=8081 uqrp serve'),
    )
    .action(async (options: { acceptNewStore?: boolean }) => {
      const signals = takeSignals();
      const { serveCommand } = await import('./actions/serve.ts');
      await serveCommand(clock, json(), options, signals);
    });

  command(program, 'backup', 'copy the data of a server into a new folder; the server may run')
    .argument('<dir>', 'the folder, which must be new or empty')
    .addHelpText('after', examples('uqrp backup /var/backups/uqrp-2026-11-22'))
    .action(async (folder: string) => (await import('./actions/upkeep.ts')).backup(clock, folder, json()));
  command(program, 'restore', 'put a backup into UQRP_DATA_DIR, which must be new or empty')
    .argument('<dir>', 'the folder that backup made')
    .addHelpText('after', examples('UQRP_DATA_DIR=/var/lib/uqrp uqrp restore /var/backups/uqrp-2026-11-22'))
    .action(async (folder: string) => (await import('./actions/upkeep.ts')).restore(clock, folder, json()));

  command(program, 'doctor', 'check what most often goes wrong; exit code 1 when something is wrong').action(
    async () => (await import('./actions/upkeep.ts')).doctor(clock, json()),
  );
}
