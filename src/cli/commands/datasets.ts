import type { Command } from 'commander';
import type { ImportOptions } from '../actions/dataset-registry.ts';
import type { VerifyOptions } from '../actions/datasets.ts';
import { type Builder, examples, group } from '../builder.ts';

const load = () => import('../actions/datasets.ts');
const loadRegistry = () => import('../actions/dataset-registry.ts');
const ITEMS = ['--items <file>', 'items file, JSON lines'] as const;

export function addDatasetCommands(builder: Builder): void {
  const { program, command, clock, json } = builder;
  const dataset = group(
    program,
    'dataset',
    'attest files of reference data, verify them, and publish them over DNS',
  );
  command(dataset, 'keygen', 'make a key that attests from now on; print its id and public key').action(
    async () => (await load()).datasetKeygen(clock, json()),
  );
  command(dataset, 'attest', 'check a manifest and its items, and print the manifest with a signature')
    .argument('<manifest>', 'manifest file: slug, version, license, provenance and url as JSON')
    .requiredOption(...ITEMS)
    .addHelpText('after', examples('uqrp dataset attest manifest.json --items items.jsonl > signed.json'))
    .action(async (manifest: string, options: { items: string }) =>
      (await load()).datasetAttest(clock, manifest, options, json()),
    );
  command(
    dataset,
    'verify',
    'check signature, hash and items of an attested manifest; exit code 1 when one is wrong',
  )
    .argument('<signed>', 'manifest file that attest printed')
    .requiredOption(...ITEMS)
    .requiredOption('--key <base64>', 'public key of the publisher, 32 octets in Base64')
    .addHelpText(
      'after',
      examples(
        'uqrp dataset verify signed.json --items items.jsonl --key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
      ),
    )
    .action(async (signed: string, options: VerifyOptions) =>
      (await load()).datasetVerify(signed, options, json()),
    );
  addRegistryCommands(builder, dataset);
}

function addRegistryCommands({ command, clock, json }: Builder, dataset: Command): void {
  command(dataset, 'import', 'check a signed manifest and its items, and serve them; beside a running server')
    .argument('<signed>', 'manifest file that attest printed')
    .requiredOption(...ITEMS)
    .option('--key <base64>', 'public key of another publisher, 32 octets in Base64; it is remembered')
    .addHelpText('after', examples('uqrp dataset import signed.json --items items.jsonl'))
    .action(async (signed: string, options: ImportOptions) =>
      (await loadRegistry()).datasetImport(clock, signed, options, json()),
    );
  command(dataset, 'list', 'list the datasets that are served or being imported').action(async () =>
    (await loadRegistry()).datasetList(clock, json()),
  );
  command(dataset, 'retire', 'serve a version no more, or no version of a dataset')
    .argument('<dataset>', 'SLUG or SLUG@VERSION')
    .addHelpText('after', examples('uqrp dataset retire gtin-demo@1.2.0'))
    .action(async (target: string) => (await loadRegistry()).datasetRetire(clock, target, json()));
  command(dataset, 'export', 'print the items file of a served version, octet for octet')
    .argument('<dataset>', 'SLUG, for the latest version, or SLUG@VERSION')
    .option('--manifest', 'print the signed manifest instead')
    .addHelpText('after', examples('uqrp dataset export gtin-demo > items.jsonl'))
    .action(async (target: string, options: { manifest?: boolean }) =>
      (await loadRegistry()).datasetExport(clock, target, options),
    );
}
