import { type Builder, examples, group } from '../commands.ts';

const loadWitness = () => import('./witness.ts');

export function addWitnessCommands({ program, command, clock, json, takeSignals }: Builder): void {
  const witness = group(program, 'witness', 'cosign the checkpoints of transparency logs');
  command(witness, 'init', 'make a witness in UQRP_DATA_DIR, and print its verifier key')
    .argument('<name>', 'URL without scheme that identifies it, such as witness.example.org/w1')
    .addHelpText('after', examples('UQRP_DATA_DIR=/var/lib/witness uqrp witness init witness.example.org/w1'))
    .action(async (name: string) => (await loadWitness()).witnessInit(name, json()));
  command(witness, 'trust', 'cosign this log from now on; the witness may run')
    .argument('<vkey>', 'verifier key of the log, as uqrp log init prints it')
    .action(async (vkey: string) => (await loadWitness()).witnessTrust(vkey, json()));
  command(witness, 'serve', 'answer logs and monitors until SIGTERM or SIGINT')
    .requiredOption('--listen <host:port>', 'where it listens, over HTTP')
    .addHelpText(
      'after',
      examples('UQRP_DATA_DIR=/var/lib/witness uqrp witness serve --listen 127.0.0.1:8080'),
    )
    .action(async (options: { listen: string }) => {
      const signals = takeSignals();
      await (await loadWitness()).witnessServe(clock, options, json(), signals);
    });
}
