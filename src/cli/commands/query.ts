import { Option } from 'commander';
import type { QueryOptions } from '../actions/query.ts';
import { type Builder, examples } from '../builder.ts';

export function addQueryCommand({ program, command, json }: Builder): void {
  command(
    program,
    'query',
    'ask for a TXT record and decode its envelope; exit code 1 when there is no answer',
  )
    .argument(
      '<name>',
      'the name; without a zone of UQRP_ZONES and without a final dot, the first zone is added',
    )
    .option('--server <address>', 'address or name of the server (default: UQRP_HOST)')
    .option('--port <port>', 'its port (default: UQRP_DNS_PORT, UQRP_DOT_PORT or UQRP_DOH_PORT)')
    .addOption(new Option('--tcp', 'ask over TCP').conflicts(['dot', 'doh']))
    .addOption(new Option('--dot', 'ask over TLS').conflicts(['tcp', 'doh']))
    .addOption(new Option('--doh', 'ask over HTTPS').conflicts(['tcp', 'dot']))
    .addHelpText(
      'after',
      examples(
        'uqrp query get.100-km-to-mi.units.public.v1',
        'uqrp query get.auth-TOKEN.greeting.acme.v1 --dot --server localhost',
      ),
    )
    .action(async (name: string, options: QueryOptions) =>
      (await import('../actions/query.ts')).query(name, { ...options, json: json() }),
    );
}
