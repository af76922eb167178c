import { Command } from 'commander';
import { documentsFolder, programVersion } from '../ops/config/version.ts';
import {
  addAuditCommand,
  addCompletionCommand,
  addEncryptionCommands,
  addOrganizationCommands,
  addPeopleCommands,
  addRecordCommands,
  addRunCommand,
  addServerCommands,
  type Builder,
  type ProgramOptions,
} from './commands.ts';
import {
  addDataCommands,
  addDatasetCommands,
  addFeedCommands,
  addHistoryCommands,
  addKeyCommands,
} from './data-commands.ts';
import { print } from './output.ts';
import { addQueryCommands } from './query-commands.ts';
import { addLogCommands, addWitnessCommands } from './transparency/commands.ts';

const JSON_OPTION = ['--json', 'print JSON for machines'] as const;

const environmentHelp = (): string => `
Settings come from the environment (UQRP_DATA_DIR, UQRP_DATABASE_URL, UQRP_SECRET, ports, zones): a command that works on a server's
data needs the same variables as that server. All variables: OPERATIONS.md of the documents of this release, which are in
${documentsFolder()}, with the alerts for Prometheus in alerts/.

Exit codes: 0 done, 1 failed or answered with an error, 2 wrong command line or configuration.

Examples:
  uqrp serve
  uqrp put greeting.acme.v1 'hello world' --user you@example.net --public-read
  uqrp read greeting.acme.v1
  TOKEN=$(uqrp user token you@example.net)
  uqrp COMMAND --help`;

/** The tree of commands. An action imports what it needs when it runs, so that `--help` starts fast. */
export function buildProgram(options: ProgramOptions): Command {
  const program = new Command('uqrp')
    .description('Small records written over REST, read by everyone over DNS')
    .exitOverride()
    .helpCommand('help [command...]', 'show the help of a command')
    .option(...JSON_OPTION)
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      print(programVersion());
      process.exit(0);
    })
    .addHelpText('after', environmentHelp);
  const builder: Builder = {
    ...options,
    program,
    json: () => program.opts<{ json?: boolean }>().json === true,
    // Each command accepts `--json` before and after its name.
    command: (parent, usage, about) =>
      parent
        .command(usage)
        .description(about)
        .exitOverride()
        .option(...JSON_OPTION)
        .hook('preAction', (_program, action) => {
          if (action.opts<{ json?: boolean }>().json === true) program.setOptionValue('json', true);
        }),
  };
  addServerCommands(builder);
  addPeopleCommands(builder);
  addOrganizationCommands(builder);
  addKeyCommands(builder);
  addRecordCommands(builder);
  addEncryptionCommands(builder);
  addRunCommand(builder);
  addDataCommands(builder);
  addHistoryCommands(builder);
  addAuditCommand(builder);
  addDatasetCommands(builder);
  addFeedCommands(builder);
  addQueryCommands(builder);
  addLogCommands(builder);
  addWitnessCommands(builder);
  addCompletionCommand(builder);
  return program;
}
