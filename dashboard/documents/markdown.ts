/**
 * Markdown to HTML. Only the tokens come from `marked`: every tag and attribute is written here, and text is escaped here, so that no document
 * can bring a script, a style or a handler into a page.
 */
import { lexer, type Token, type Tokens } from 'marked';
import { escapeHtml, marked } from '../../src/http/pages/fill.ts';

export interface Heading {
  readonly id: string;
  readonly depth: number;
  readonly text: string;
  /** Of the section below it, without commands: for the search. */
  readonly words: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
  /** Plain text of the first paragraph. */
  readonly summary: string;
}

interface Options {
  /** @returns null: the text of the link is shown without a link */
  readonly link: (href: string) => string | null;
  /** What a link shows. @returns null: its own text */
  readonly title: (href: string, text: string) => string | null;
  /** @returns null: no such picture; its text is shown */
  readonly picture: (href: string) => Picture | null;
}

export interface Picture {
  readonly url: string;
  /** The same for the dark theme. */
  readonly dark: string | null;
  readonly width: number;
  readonly height: number;
}

export function render(text: string, options: Options): Rendered {
  return new Renderer(options).page(lexer(text));
}

class Renderer {
  readonly #options: Options;
  readonly #ids = new Map<string, number>();
  readonly #headings: { id: string; depth: number; text: string; words: string[] }[] = [];

  constructor(options: Options) {
    this.#options = options;
  }

  page(tokens: readonly Token[]): Rendered {
    const html = this.#blocks(tokens);
    const first = tokens.find((token) => token.type === 'paragraph' && !isPicture(token));
    return {
      html,
      headings: this.#headings.map(({ words, ...rest }) => ({ ...rest, words: words.join(' ') })),
      summary: first === undefined ? '' : plain(insideOf(first)).replaceAll(/\s+/g, ' ').trim(),
    };
  }

  #blocks(tokens: readonly Token[]): string {
    return tokens.map((token) => this.#block(token)).join('');
  }

  #block(token: Token): string {
    switch (token.type) {
      case 'heading':
        return this.#heading(token as Tokens.Heading);
      case 'paragraph':
        this.#index(plain(insideOf(token)));
        return `<p>${this.#inline(insideOf(token))}</p>\n`;
      case 'code':
        return code(token as Tokens.Code);
      case 'list':
        return this.#list(token as Tokens.List);
      case 'table':
        return this.#table(token as Tokens.Table);
      case 'blockquote':
        return `<blockquote>${this.#blocks(insideOf(token))}</blockquote>\n`;
      case 'hr':
        return '<hr>\n';
      case 'text':
        this.#index(plain(insideOf(token)));
        return this.#inline((token as Tokens.Text).tokens ?? [token]);
      // HTML in documents is comments only.
      case 'html':
      case 'space':
      case 'def':
        return '';
      default:
        throw new Error(`no HTML for a block of the type ${token.type}`);
    }
  }

  #heading({ depth, tokens }: Tokens.Heading): string {
    const text = plain(tokens).trim();
    const id = this.#idOf(text);
    this.#headings.push({ id, depth, text, words: [] });
    const level = `h${Math.min(depth, 6)}`;
    const anchor =
      depth === 1 ? '' : ` <a class="anchor" href="#${id}" aria-label="Link to: ${escapeHtml(text)}">#</a>`;
    return `<${level} id="${id}">${this.#inline(tokens)}${anchor}</${level}>\n`;
  }

  /** As GitHub makes them, so that a link works in both places. */
  #idOf(text: string): string {
    const base = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    const seen = this.#ids.get(base) ?? 0;
    this.#ids.set(base, seen + 1);
    return seen === 0 ? base : `${base}-${seen}`;
  }

  #list({ ordered, start, items }: Tokens.List): string {
    const tag = ordered ? 'ol' : 'ul';
    const from = ordered && typeof start === 'number' && start !== 1 ? ` start="${start}"` : '';
    const rows = items.map(({ tokens }) => `<li>${this.#blocks(tokens)}</li>`);
    return `<${tag}${from}>\n${rows.join('\n')}\n</${tag}>\n`;
  }

  #table({ header, rows }: Tokens.Table): string {
    const cells = (tag: string, row: readonly Tokens.TableCell[]): string =>
      `<tr>${row
        .map(({ text, tokens }) => {
          // A header without text is a cell: a reader of the screen would say nothing for it.
          const name = text === '' ? 'td' : tag;
          return `<${name}>${this.#cell(tokens)}</${name}>`;
        })
        .join('')}</tr>`;
    const hasHead = header.some(({ text }) => text !== '');
    const head = hasHead ? `<thead>${cells('th', header)}</thead>` : '';
    const body = rows.map((row) => cells('td', row)).join('\n');
    // It scrolls by itself on a narrow screen, so it can have the focus.
    return `<div class="scroll" tabindex="0"><table>${head}<tbody>\n${body}\n</tbody></table></div>\n`;
  }

  #cell(tokens: readonly Token[]): string {
    this.#index(plain(tokens));
    return this.#inline(tokens);
  }

  #inline(tokens: readonly Token[]): string {
    return tokens.map((token) => this.#span(token)).join('');
  }

  #span(token: Token): string {
    switch (token.type) {
      case 'text':
        return 'tokens' in token && token.tokens !== undefined
          ? this.#inline(token.tokens)
          : escapeHtml(unescaped(token.raw));
      case 'escape':
        return escapeHtml(token.text);
      case 'codespan':
        return codeSpan(spanText(token.raw));
      case 'strong':
      case 'em':
      case 'del':
        return `<${token.type}>${this.#inline(insideOf(token))}</${token.type}>`;
      case 'br':
        return '<br>';
      case 'link':
        return this.#link(token as Tokens.Link);
      case 'image':
        return this.#image(token as Tokens.Image);
      case 'html':
        return '';
      default:
        throw new Error(`no HTML for a span of the type ${token.type}`);
    }
  }

  #link({ href, text: shown, tokens }: Tokens.Link): string {
    const to = this.#options.link(href);
    // An address as it is typed: it may be one of this server.
    const title = this.#options.title(href, shown);
    const text =
      shown === href ? escapeHtml(marked(href)) : title === null ? this.#inline(tokens) : escapeHtml(title);
    if (to === null) return text;
    const other = /^https?:/.test(to) ? ' rel="noreferrer"' : '';
    return `<a href="${escapeHtml(marked(to))}"${other}>${text}</a>`;
  }

  #image({ href, text }: Tokens.Image): string {
    const picture = this.#options.picture(href);
    if (picture === null) return escapeHtml(text);
    const { url, dark, width, height } = picture;
    const size = width === 0 ? '' : ` width="${width}" height="${height}"`;
    const image = `<img src="${escapeHtml(url)}" alt="${escapeHtml(text)}"${size} loading="lazy">`;
    if (dark === null) return image;
    return `<picture><source srcset="${escapeHtml(dark)}" media="(prefers-color-scheme: dark)">${image}</picture>`;
  }

  #index(words: string): void {
    this.#headings.at(-1)?.words.push(words);
  }
}

/** Which programming language it is changes nothing: no colours. */
function code({ text, lang }: Tokens.Code): string {
  const name = /^\w+/.exec(lang ?? '')?.[0] ?? '';
  const kind = name === '' ? '' : ` data-language="${name}"`;
  return `<div class="snippet"><pre tabindex="0"${kind}><code>${escapeHtml(marked(text))}</code></pre></div>\n`;
}

/** Characters of a name that is never broken into two lines. */
const WORD = 24;

function codeSpan(text: string): string {
  const kind = text.length <= WORD && !text.includes(' ') ? ' class="word"' : '';
  return `<code${kind}>${escapeHtml(marked(text))}</code>`;
}

/** What is between the back quotes: some versions of the lexer escape `text`. */
function spanText(raw: string): string {
  const fence = /^`+/.exec(raw)?.[0].length ?? 0;
  const inner = raw.slice(fence, -fence).replaceAll('\n', ' ');
  return /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner;
}

const NAMED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&nbsp;': '\u{A0}',
};

function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|nbsp);/g, (entity) => NAMED[entity]!);
}

function insideOf(token: Token): readonly Token[] {
  return ('tokens' in token ? token.tokens : undefined) ?? [];
}

function isPicture(token: Token): boolean {
  const inside = insideOf(token);
  return inside.length === 1 && inside[0]!.type === 'image';
}

/** Without tags; what code says is a word too. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token): string => {
      if (token.type === 'codespan') return spanText(token.raw);
      if (token.type === 'image' || token.type === 'html') return '';
      if (token.type === 'br') return ' ';
      if (token.type === 'escape') return token.text;
      if ('tokens' in token && token.tokens !== undefined) return plain(token.tokens);
      return unescaped(token.raw);
    })
    .join('');
}
