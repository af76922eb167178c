import { type Builder, examples } from '../builder.ts';

export function addServerCommands({ program, command, clock, json, takeSignals }: Builder): void {
  command(program, 'serve', 'run the server until SIGTERM or SIGINT; SIGHUP reads the certificate anew')
    .option('--accept-new-store', 'start although the database is another than the one of the last start')
    .addHelpText(
      'after',
      examples('uqrp serve', 'UQRP_DATA_DIR=/var/lib/uqrp UQRP_HTTP_PORT=8081 uqrp serve'),
    )
    .action(async (options: { acceptNewStore?: boolean }) => {
      const signals = takeSignals();
      const { serveCommand } = await import('../serve.ts');
      await serveCommand(clock, json(), options, signals);
    });
}
