import type { StockMapOptions } from '../actions/stock-map.ts';
import { type Builder, examples, group } from '../builder.ts';

export function addDataCommands({ program, command, clock, json }: Builder): void {
  const geoip = group(program, 'geoip', 'replace the address database of the service geoip');
  command(geoip, 'update', 'answer from another MaxMind DB file; running servers take it up within seconds')
    .requiredOption('--file <file>', 'the file, which is copied')
    .action(async (options: { file: string }) =>
      (await import('../actions/geoip.ts')).geoipUpdate(options, json()),
    );

  const stockMap = group(program, 'stock-map', 'replace the list of exchanges of the service stock');
  command(stockMap, 'import', 'read a symbol directory file; running servers use it within a second')
    .argument('<file>', 'nasdaqtraded.txt of Nasdaq Trader')
    .requiredOption('--asof <date>', 'date of the file, YYYY-MM-DD')
    .requiredOption('--tag <tag>', 'source of the file, sent as exchsrc')
    .addHelpText(
      'after',
      examples('uqrp stock-map import nasdaqtraded.txt --asof 2026-11-20 --tag nasdaqtrader'),
    )
    .action(async (file: string, options: StockMapOptions) =>
      (await import('../actions/stock-map.ts')).stockMapImport(clock, file, options, json()),
    );

  command(program, 'export', 'print the records of a namespace as JSON lines')
    .argument('<namespace>', 'the namespace')
    .addHelpText('after', examples('uqrp export acme > acme.jsonl'))
    .action(async (name: string) => (await import('../actions/transfer.ts')).exportNamespace(clock, name));
  command(program, 'import', 'store the records of a JSON lines file, replacing those with the same key')
    .argument('<namespace>', 'the namespace, which must exist')
    .argument('<file>', 'the file; - is standard input')
    .addHelpText('after', examples('uqrp import acme acme.jsonl'))
    .action(async (name: string, file: string) =>
      (await import('../actions/transfer.ts')).importNamespace(clock, name, file, json()),
    );
}
