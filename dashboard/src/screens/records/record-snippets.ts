/** A record as commands and code. Placeholders stand for secrets; a key has no letters that a shell or a language would read. */
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { digOverHttps, plainDig, queryName } from '../tokens/token-command.ts';

export interface Snippet {
  readonly name: string;
  readonly code: string;
}

/**
 * @param origin of the REST API
 * @param isOpen whether reads need no query token
 */
export function recordSnippets(key: string, meta: Meta, origin: string, isOpen: boolean): readonly Snippet[] {
  const zone = meta.zones[0] ?? '';
  const name = queryName(key, isOpen ? null : '$QUERY_TOKEN', zone);
  const digs = [digOverHttps(quoted(name), meta), isOpen ? plainDig(quoted(name), meta) : null];
  const dig = digs.filter((line) => line !== null).join('\n');
  const { doh } = meta.endpoints;
  const token = isOpen ? '' : ', token: process.env.QUERY_TOKEN';
  return [
    ...(dig === '' ? [] : [{ name: 'dig', code: dig }]),
    {
      name: 'curl',
      code: `${keyedCurl()} -s "${origin}/api/v1/records?key=${key}"`,
    },
    {
      name: 'node',
      code:
        doh === null
          ? `import { textOf, Uqrp } from 'uqrp-sdk';

const uqrp = new Uqrp({ baseUrl: '${origin}', token: process.env.UQRP_TOKEN });
console.log(textOf(await uqrp.records.find('${key}')));`
          : `import { Reader } from 'uqrp-sdk/dns';

const reader = new Reader({ doh: '${doh}', zone: '${zone}'${token} });
const { data } = await reader.text('${key}');
console.log(data);`,
    },
    {
      name: 'python',
      code: `import base64, json, os, urllib.request

request = urllib.request.Request(
    "${origin}/api/v1/records?key=${key}",
    headers={"Authorization": "Bearer " + os.environ["UQRP_TOKEN"]},
)
[record] = json.load(urllib.request.urlopen(request))
print(base64.b64decode(record["data"]))`,
    },
  ];
}

/** In quotation marks, so that the shell puts the token in and nothing else. */
function quoted(name: string): string {
  return `"${name}"`;
}
