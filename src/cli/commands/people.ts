import { type Builder, examples, group } from '../builder.ts';

const load = () => import('../actions/operator.ts');
const TIER = 'free, pro, team or enterprise';

export function addPeopleCommands({ program, command, clock, json }: Builder): void {
  const user = group(program, 'user', 'create and change accounts');
  command(user, 'create', 'create an account; makes the data directory where there is none')
    .argument('<email>', 'mail address of the customer')
    .option('--tier <tier>', TIER, 'free')
    .addHelpText('after', examples('uqrp user create you@example.net --tier pro'))
    .action(async (email: string, options: { tier: string }) =>
      (await load()).userCreate(clock, email, options.tier, json()),
    );
  command(user, 'token', 'print a customer token (JWT) for the API, valid for 12 hours')
    .argument('<email>', 'mail address of the customer')
    .addHelpText('after', examples('TOKEN=$(uqrp user token you@example.net)'))
    .action(async (email: string) => (await load()).userToken(clock, email, json()));
  command(user, 'tier', 'move an account to another tier')
    .argument('<email>', 'mail address of the customer')
    .argument('<tier>', TIER)
    .action(async (email: string, tier: string) => (await load()).userTier(clock, email, tier, json()));
  command(user, 'list', 'list all accounts').action(async () => (await load()).userList(clock, json()));

  command(user, 'delete', 'delete an account with everything that is its own')
    .argument('<email>', 'mail address of the user')
    .action(async (email: string) => (await load()).userDelete(clock, email, json()));
  command(user, 'sessions', 'list the sessions of a user, or end them')
    .argument('<email>', 'mail address of the user')
    .option('--end', 'sign the user out everywhere')
    .action(async (email: string, options: { end?: boolean }) =>
      (await load()).userSessions(clock, email, options.end === true, json()),
    );

  const namespace = group(program, 'namespace', 'list namespaces, and set what only the operator may set');
  command(namespace, 'list', 'list all namespaces with their owners').action(async () =>
    (await load()).namespaceList(clock, json()),
  );
  command(namespace, 'public-read', 'let everyone read a namespace without a token')
    .argument('<name>', 'the namespace')
    .argument('<on|off>', 'on: open; off: private')
    .action(async (name: string, value: string) =>
      (await load()).namespaceFlag(clock, 'public-read', name, value, json()),
    );
  command(namespace, 'suspend', 'refuse every read of a namespace')
    .argument('<name>', 'the namespace')
    .argument('<on|off>', 'on: reads are refused; off: as before')
    .action(async (name: string, value: string) =>
      (await load()).namespaceFlag(clock, 'suspend', name, value, json()),
    );
}
