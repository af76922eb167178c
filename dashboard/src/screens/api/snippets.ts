import { keyedCurl } from '../../format/keyed-curl.ts';
import { jsonText, type PlannedRequest } from './request.ts';

export interface Snippet {
  readonly name: string;
  readonly code: string;
}

/** The request as commands and code. `UQRP_TOKEN` stands for the credential, which no snippet holds. */
export function snippetsOf(request: PlannedRequest, origin: string, isOpen: boolean): readonly Snippet[] {
  return [
    { name: 'curl', code: curl(request, origin, isOpen) },
    { name: 'node', code: node(request, origin, isOpen) },
    { name: 'python', code: python(request, origin, isOpen) },
  ];
}

function urlOf({ path, query }: PlannedRequest, origin: string): string {
  const search = new URLSearchParams(query).toString();
  return `${origin}/api/v1${path}${search === '' ? '' : `?${search}`}`;
}

function curl(request: PlannedRequest, origin: string, isOpen: boolean): string {
  const { method, headers, body } = request;
  const lines = [
    `${isOpen ? 'curl' : keyedCurl()} ${method === 'GET' ? '' : `-X ${method} `}${quoted(urlOf(request, origin))}`,
  ];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(jsonText(body))}`);
  }
  return lines.join(' \\\n  ');
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function node(
  { method, path, query, headers, body }: PlannedRequest,
  origin: string,
  isOpen: boolean,
): string {
  const options = [
    `baseUrl: ${JSON.stringify(origin)}`,
    ...(isOpen ? [] : ['token: process.env.UQRP_TOKEN']),
  ];
  const parts = [`method: '${method}'`, `path: ${JSON.stringify(path)}`];
  if (Object.keys(query).length > 0) parts.push(`query: ${JSON.stringify(query)}`);
  if (Object.keys(headers).length > 0) parts.push(`headers: ${JSON.stringify(headers)}`);
  if (body !== undefined) parts.push(`body: ${jsonText(body).replaceAll('\n', '\n  ')}`);
  return `import { Uqrp } from 'uqrp-sdk';

const uqrp = new Uqrp({ ${options.join(', ')} });
const answer = await uqrp.request({
  ${parts.join(',\n  ')},
});
console.log(answer.status, answer.body);
`;
}

function python(request: PlannedRequest, origin: string, isOpen: boolean): string {
  const { method, headers, body } = request;
  const all = [
    ...(isOpen ? [] : ['"Authorization": "Bearer " + os.environ["UQRP_TOKEN"]']),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
    ...Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
  ];
  // The literals of JSON are literals of Python, as long as they are strings.
  const data = body === undefined ? '' : `\n    data=${JSON.stringify(JSON.stringify(body))}.encode(),`;
  return `${isOpen ? '' : 'import os\n'}import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(urlOf(request, origin))},
    method="${method}",${data}
    headers={${all.join(', ')}},
)
with urllib.request.urlopen(request) as answer:
    print(answer.status, answer.read().decode())
`;
}
