const STRUCTURAL =
  'public system admin api www mail ftp dns nameserver ns ns01 ns02 ns03 test demo example staging production root ' +
  'localhost internal private';

const OWN = 'uqrp svc service';

/** Nobody may use the name of a large company or code host. */
const COMPANIES =
  'google alphabet youtube android amazon aws apple icloud microsoft azure windows office meta facebook instagram ' +
  'whatsapp netflix nvidia intel amd ibm oracle sap salesforce adobe cisco vmware dell hewlett-packard samsung sony ' +
  'huawei xiaomi alibaba tencent baidu bytedance tiktok twitter linkedin openai anthropic cloudflare akamai fastly ' +
  'digitalocean heroku vercel netlify paypal stripe visa mastercard uber airbnb spotify dropbox slack zoom discord ' +
  'telegram signal mozilla wikipedia redhat canonical ubuntu debian docker kubernetes ' +
  'github gitlab bitbucket codeberg sourceforge gitea forgejo sourcehut npmjs pypi';

/** Answered only when UQRP_DEMO is on. */
export const DEMO_NAMESPACES: ReadonlySet<string> = new Set([
  'playground',
  'playground-staging',
  'playground-dev',
]);

export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...`${STRUCTURAL} ${OWN} ${COMPANIES}`.split(' '),
  ...DEMO_NAMESPACES,
]);
