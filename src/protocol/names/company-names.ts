/**
 * Names of companies, products and code hosts that no customer may take for a namespace, because readers would take its records for
 * theirs. A name of a namespace that was made before its row stays in use.
 *
 * What the rows are of. They were written from memory and not compared with today's pages row by row. Names are facts; none of the
 * pages' text is here.
 * - companies: the ranking "Largest tech companies by market cap" (https://companiesmarketcap.com/tech/), whose first sixty are here with
 *   those that were among them in the two years before, and with large ones that are not listed on an exchange
 * - code hosts: "Comparison of source-code-hosting facilities" (https://en.wikipedia.org/wiki/Comparison_of_source-code-hosting_facilities),
 *   its hosts of today and of before, and registries from which package managers install by default
 */

/** Company, then other names and best known products of it, lower case, one line each. Names of fewer than three letters cannot be taken. */
const COMPANIES = `
  nvidia geforce cuda
  microsoft windows office office365 azure xbox outlook hotmail bing skype onedrive sharepoint msn visualstudio vscode
  apple icloud iphone ipad macos itunes siri airpods app-store appstore safari
  alphabet google android youtube gmail chrome chromium google-cloud googlecloud gcp waymo deepmind gemini pixel fitbit firebase
  amazon aws alexa kindle twitch prime-video amazon-web-services audible
  meta facebook instagram whatsapp threads oculus messenger
  broadcom vmware symantec
  tsmc taiwan-semiconductor
  tesla spacex starlink xai grok
  tencent wechat weixin qqmail
  oracle mysql java netsuite
  netflix
  palantir
  alibaba taobao tmall alipay aliyun alicloud aliexpress ant-group antgroup
  asml
  samsung galaxy samsung-electronics bixby
  sap sap-hana
  cisco webex meraki splunk duo-security
  amd radeon ryzen xilinx
  ibm watson lotus-notes
  salesforce slack tableau mulesoft heroku
  micron
  uber uber-eats ubereats
  applovin
  lam-research lamresearch
  servicenow
  applied-materials appliedmaterials
  shopify
  intuit quickbooks turbotax mailchimp credit-karma
  qualcomm snapdragon
  sony playstation bravia
  arista arista-networks
  sk-hynix skhynix
  kla kla-tencor
  intel xeon
  texas-instruments texasinstruments
  xiaomi redmi
  pdd pinduoduo temu
  booking booking-com priceline
  adobe photoshop acrobat figma
  arm arm-holdings
  accenture
  crowdstrike
  palo-alto-networks paloaltonetworks
  analog-devices analogdevices
  amphenol
  spotify
  mercadolibre mercado-libre mercadopago
  tokyo-electron
  keyence
  hitachi
  foxconn hon-hai
  meituan
  netease
  cadence
  synopsys ansys
  doordash
  airbnb
  dell dell-emc
  constellation-software
  infosys
  tcs tata-consultancy
  sea-limited shopee garena
  snowflake
  cloudflare
  fortinet
  marvell
  mediatek
  softbank
  nintendo
  recruit-holdings indeed
  jingdong jd-com
  baidu
  workday
  autodesk
  equinix
  motorola motorola-solutions
  corning
  robinhood
  coinbase
  roblox
  atlassian jira confluence trello
  ebay
  paypal venmo
  siemens
  ericsson
  nokia
  lenovo thinkpad
  hewlett-packard hewlettpackard hpe
  western-digital sandisk
  seagate
  datadog
  mongodb
  zscaler
  okta auth0
  twilio sendgrid
  godaddy
  akamai linode
  fastly
  digitalocean
  verisign
  infineon
  nxp nxp-semiconductors
  stmicroelectronics
  schneider-electric
  fujitsu
  panasonic
  canon
  huawei honor harmonyos
  bytedance tiktok douyin capcut
  openai chatgpt
  anthropic claude
  stripe
  visa
  mastercard
  twitter
  linkedin
  reddit
  pinterest
  snapchat snap-inc
  yahoo
  dropbox
  zoom
  discord
  telegram
  signal
  databricks
  vercel nextjs
  netlify
  mozilla firefox thunderbird
  wikipedia wikimedia
  duckduckgo
  yandex
  naver
  kakao
  rakuten
  line-corp
  grab
  redhat red-hat openshift ansible
  canonical ubuntu
  debian
  suse opensuse
  docker dockerhub
  kubernetes
  hashicorp terraform
  elastic elasticsearch
  redis
  lets-encrypt letsencrypt
`;

/** Public hosts of source code, and registries of packages. */
const CODE_HOSTS = `
  github github-io
  gitlab
  bitbucket
  codeberg
  sourceforge
  gitea
  forgejo
  gogs
  gitee
  sourcehut
  launchpad
  savannah gnu-savannah
  notabug
  pagure
  phabricator
  assembla
  azure-devops azuredevops
  beanstalk
  buddy buddy-works
  codebase codebasehq
  cloudforge
  kallithea
  rhodecode
  helix-teamhub perforce
  osdn
  ourproject ow2
  tuleap
  heptapod
  radicle
  tangled
  gitcode
  gitflic
  gitverse
  disroot
  framagit
  googlecode google-code
  codeplex
  gitorious
  javaforge
  gforge
  replit
  stackblitz
  codesandbox
  codepen
  glitch
  jsfiddle
  huggingface hugging-face
  kaggle
  npm npmjs
  yarnpkg
  jsr
  unpkg
  jsdelivr
  pypi
  conda anaconda
  rubygems
  crates crates-io cratesio
  packagist
  nuget
  maven maven-central
  gradle
  hex-pm hexpm
  cpan
  cran
  homebrew
  hackage
  pkg-go-dev golang
  quay quay-io
`;

export const COMPANY_NAMES: readonly string[] = `${COMPANIES} ${CODE_HOSTS}`.trim().split(/\s+/);
