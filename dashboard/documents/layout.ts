/** The HTML around a document: header, index, list of sections, neighbours. */
import moon from 'lucide/dist/esm/icons/moon.mjs';
import sun from 'lucide/dist/esm/icons/sun.mjs';
import sunMoon from 'lucide/dist/esm/icons/sun-moon.mjs';
import { escapeHtml } from '../../src/http/pages/fill.ts';
import type { Rendered } from './markdown.ts';
import { type Group, nameInIndex, type Source } from './pages.ts';

/** Paths below the origin, which the build of the dashboard made. */
export interface Assets {
  /** `<link>` elements of the dashboard: style, icon, font. */
  readonly links: readonly string[];
  readonly style: string;
  readonly script: string;
  readonly search: string;
}

interface Parts {
  readonly assets: Assets;
  readonly groups: readonly Group[];
  /** Null: the page for an address that has none. */
  readonly page: Source | null;
  readonly title: string;
  readonly rendered: Rendered;
}

/** The same as those of the pages for visitors (dashboard/src/app/visitor-frame.tsx). */
const SITE = [
  ['/services', 'Services'],
  ['/playground', 'Playground'],
  ['/api', 'API'],
  ['/docs', 'Docs'],
] as const;

/** As in dashboard/src/ui/brand.tsx. */
const BRAND =
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M7.5 8.5v8a6.25 6.25 0 0 0 12.5 0v-8"/><circle cx="25.25" cy="21.25" r="2.5"/></svg>';
/** The style shows the one of the theme. */
const THEMES = [icon('auto', sunMoon), icon('light', sun), icon('dark', moon)].join('');

function icon(theme: string, shape: typeof sun): string {
  const parts = shape.map(([tag, attributes]) => {
    const texts = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeHtml(value)}"`);
    return `<${tag}${texts.join('')}/>`;
  });
  return `<svg class="icon theme-${theme}" viewBox="0 0 24 24" aria-hidden="true">${parts.join('')}</svg>`;
}

export function pageHtml({ assets, groups, page, title, rendered }: Parts): string {
  const name = title === 'uqrp' ? 'uqrp: documents' : `${title} - uqrp`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(name)}</title>
<meta name="description" content="${escapeHtml(shortened(rendered.summary))}">
${page === null ? '<meta name="robots" content="noindex">\n' : ''}${assets.links.join('\n')}
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}"></script>
</head>
<body class="documents" data-search="${assets.search}">
<a class="skip" href="#main">Skip to the text</a>
<header class="top visitor-top">
<a class="brand" href="/">${BRAND}uqrp</a>
<span class="grow"></span>
<nav aria-label="Site">
${SITE.map(([path, text]) => `<a href="${path}"${path === '/docs' ? ' aria-current="page"' : ''}>${text}</a>`).join('\n')}
</nav>
<button type="button" class="button quiet theme" hidden>${THEMES}</button>
<a class="button primary" href="/sign-in">Sign in</a>
</header>
<div class="document-frame">
<div class="document-side">
<div class="document-search" role="search" hidden>
<input type="search" id="search" aria-label="Search" placeholder="Search" autocomplete="off" spellcheck="false" aria-controls="found">
<p class="hidden" role="status"></p>
<ul id="found" class="found" hidden></ul>
</div>
<button type="button" class="button index-button" aria-expanded="false" aria-controls="index" hidden>Documents</button>
<nav id="index" class="document-index" aria-label="Documents">
${groups.map((group) => indexGroup(group, page)).join('\n')}
</nav>
</div>
<main id="main" class="document">
<article>
${rendered.html}</article>
${page === null ? '' : neighbours(groups, page)}</main>
${sections(rendered)}</div>
</body>
</html>
`;
}

/** Decisions are for people who change the code: their list is closed at first. */
const CLOSED = 'The code';

function indexGroup({ name, pages }: Group, current: Source | null): string {
  const items = pages.map((page) => {
    const mark = page === current ? ' aria-current="page"' : '';
    const inside = page.url.split('/').length > 3 ? ' class="inside"' : '';
    return `<li${inside}><a href="${page.url}"${mark}>${escapeHtml(nameInIndex(page))}</a></li>`;
  });
  const open = name !== CLOSED || (current !== null && pages.includes(current)) ? ' open' : '';
  return `<details${open}><summary>${escapeHtml(name)}</summary>\n<ul>\n${items.join('\n')}\n</ul></details>`;
}

function neighbours(groups: readonly Group[], page: Source): string {
  const all = groups.flatMap(({ pages }) => pages);
  const at = all.indexOf(page);
  const link = (one: Source | undefined, rel: string, word: string): string =>
    one === undefined
      ? ''
      : `<a rel="${rel}" href="${one.url}"><span class="dim">${word}</span> ${escapeHtml(nameInIndex(one))}</a>\n`;
  return `<nav class="neighbours" aria-label="Neighbours">\n${link(all[at - 1], 'prev', 'Before')}${link(all[at + 1], 'next', 'Next')}</nav>\n`;
}

function sections({ headings }: Rendered): string {
  const found = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (found.length < 2) return '';
  const items = found.map(
    ({ id, text, depth }) =>
      `<li${depth === 3 ? ' class="inside"' : ''}><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="document-sections" aria-label="On this page">\n<p>On this page</p>\n<ul>\n${items.join('\n')}\n</ul>\n</nav>\n`;
}

/** Characters of a description that search engines show. */
const DESCRIPTION = 160;

function shortened(text: string): string {
  if (text.length <= DESCRIPTION) return text;
  return `${text.slice(0, DESCRIPTION - 1).replace(/\s+\S*$/, '')}…`;
}
