import { type Builder, examples } from '../builder.ts';

export function addServerCommands({ program, command, clock, json, takeSignals }: Builder): void {
  command(program, 'serve', 'run the server until SIGTERM or SIGINT; SIGHUP reads the certificate again')
    .option('--accept-new-store', 'start although the database is another than the one of the last start')
    .addHelpText(
      'after',
      examples('uqrp serve', 'UQRP_DATA_DIR=/var/lib/uqrp UQRP_HTTP_PORT=8081 uqrp serve'),
    )
    .action(async (options: { acceptNewStore?: boolean }) => {
      const signals = takeSignals();
      const { serveCommand } = await import('../actions/serve.ts');
      await serveCommand(clock, json(), options, signals);
    });

  command(program, 'backup', 'copy the data of a server into a new folder; the server may run')
    .argument('<dir>', 'the folder, which must be new or empty')
    .addHelpText('after', examples('uqrp backup /var/backups/uqrp-2026-11-22'))
    .action(async (folder: string) => (await import('../backup/backup.ts')).backup(clock, folder, json()));
  command(program, 'restore', 'put a backup into UQRP_DATA_DIR, which must be new or empty')
    .argument('<dir>', 'the folder that backup made')
    .addHelpText('after', examples('UQRP_DATA_DIR=/var/lib/uqrp uqrp restore /var/backups/uqrp-2026-11-22'))
    .action(async (folder: string) => (await import('../backup/restore.ts')).restore(folder, json()));

  command(program, 'doctor', 'check what most often goes wrong; exit code 1 when something is wrong').action(
    async () => (await import('../doctor/doctor.ts')).doctor(clock, json()),
  );
}
