/** The question as commands and programs. A token stands as $TOKEN in them. */

import { hasTokenLabel, MASK } from '../../format/masked-name.ts';
import type { Asked } from './asked.ts';

export interface SnippetServer {
  /** Of plain DNS; null where this server has none. */
  readonly dns: { readonly host: string; readonly port: number } | null;
  readonly origin: string;
}

export const TYPES: readonly string[] = [
  'TXT',
  'A',
  'AAAA',
  'SOA',
  'NS',
  'DNSKEY',
  'CDS',
  'NSEC',
  'MX',
  'HTTPS',
];

/** A name that no shell and no language reads as more than text, whether it is quoted or not. */
const SAFE = /^[a-z0-9_][a-z0-9._-]*$/i;

/**
 * None for a name or type that could be read as more: both may come from the address, which anybody can have made.
 * @param asked with the masked name
 */
export function snippetsOf(
  asked: Pick<Asked, 'name' | 'type' | 'dnssecOk' | 'checkingDisabled'>,
  server: SnippetServer,
): readonly { readonly name: string; readonly code: string }[] {
  const { type, dnssecOk, checkingDisabled } = asked;
  if (!TYPES.includes(type) || !SAFE.test(asked.name.replace(MASK, ''))) return [];
  const isSecret = hasTokenLabel(asked.name);
  const name = asked.name.replace(MASK, '$TOKEN');
  // Double quotes let a shell put the token in.
  const quoted = `"${name}"`;
  const { host, port } = server.dns ?? { host: 'SERVER', port: 53 };
  const flags = `${dnssecOk ? ' +dnssec' : ''}${checkingDisabled ? ' +cdflag' : ''}`;
  const from = `@${host} -p ${port}`;
  const note = isSecret
    ? '# TOKEN=…   plain DNS shows the token to everyone on the way: use it in a test only\n'
    : '';
  const secret = isSecret ? '# TOKEN=…\n' : '';
  const js = isSecret ? `\`${name.replace('$TOKEN', '$'.concat('{process.env.TOKEN}'))}\`` : `'${name}'`;
  const go = isSecret ? `"${name.replace('$TOKEN', '" + os.Getenv("TOKEN") + "')}"` : `"${name}"`;
  const python = isSecret ? `"${name.replace('$TOKEN', '" + os.environ["TOKEN"] + "')}"` : `"${name}"`;
  const query = `type=${type}${dnssecOk ? '&do=1' : ''}${checkingDisabled ? '&cd=1' : ''}`;
  return [
    { name: 'dig', code: `${note}dig ${from}${flags} ${type} ${quoted}` },
    { name: 'kdig', code: `${note}kdig ${from}${flags} ${type} ${quoted}` },
    {
      name: 'curl',
      code: isSecret
        ? `${secret}# GET would put the token into the URL and its logs, so ask by POST: kdig does\nkdig @HOST -p 8443 +https ${type} ${quoted}`
        : `curl '${server.origin}/resolve?name=${name}&${query}'`,
    },
    {
      name: 'node',
      code: `import { decodeMessage, encodeQuery, exchange, typeOf } from 'uqrp-sdk/dns';\n\nconst query = encodeQuery(${js}, { type: typeOf('${type}'), dnssecOk: ${dnssecOk} });\nconst answer = decodeMessage(await exchange('${server.origin}/dns-query', query));\nfor (const record of answer.records) console.log(record.text);`,
    },
    {
      name: 'python',
      code: `import os, dns.resolver  # pip install dnspython\n\nresolver = dns.resolver.Resolver(configure=False)\nresolver.nameservers, resolver.port = ["${host}"], ${port}\nfor record in resolver.resolve(${python}, "${type}"):\n    print(record)`,
    },
    {
      name: 'go',
      code: `r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {\n\treturn (&net.Dialer{}).DialContext(ctx, network, "${host}:${port}")\n}}\ntexts, err := r.LookupTXT(context.Background(), ${go})`,
    },
    {
      name: 'shell',
      code: `${note}answer=$(dig ${from} +short ${type} ${quoted} | sed 's/" "//g; s/^"//; s/"$//')
case $\{answer%%;d=*} in
*';e=plain;'*) printf '%s\\n' "$\{answer#*;d=}" ;;
*) printf %s "$\{answer#*;d=}" | base64 -d ;;
esac`,
    },
  ];
}
