/** The search of the documents: the index is loaded at the first key. */
import { type Found, type SearchIndex, search } from './search.ts';

interface Parts {
  readonly input: HTMLInputElement;
  readonly list: HTMLUListElement;
  readonly status: HTMLElement;
}

/** @param url of the index */
export function listenForSearch(box: HTMLElement, url: string): void {
  const input = box.querySelector('input');
  const list = box.querySelector('ul');
  const status = box.querySelector<HTMLElement>('[role="status"]');
  if (input === null || list === null || status === null) return;
  const parts: Parts = { input, list, status };
  let loading: Promise<SearchIndex> | null = null;
  const load = (): Promise<SearchIndex> => {
    loading ??= fetchIndex(url).catch((error: unknown) => {
      // The next key tries again.
      loading = null;
      throw error;
    });
    return loading;
  };
  const update = async (): Promise<void> => {
    const query = input.value;
    if (query.trim() === '') {
      close(parts);
      return;
    }
    try {
      const index = await load();
      // While it loaded, more was typed: the last call shows.
      if (input.value === query) show(parts, search(index, query), query);
    } catch {
      say(parts, 'The index of the search did not load. Type again to try again.');
    }
  };
  box.hidden = false;
  input.addEventListener('input', () => void update());
  box.addEventListener('keydown', (event) => onKey(event, parts));
  box.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !box.contains(relatedTarget)) close(parts);
  });
  document.addEventListener('keydown', (event) => {
    const isFind = event.key === 'k' && (event.ctrlKey || event.metaKey);
    if (!isFind && (event.key !== '/' || isTyping(event.target))) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Node && !box.contains(target)) close(parts);
  });
}

async function fetchIndex(url: string): Promise<SearchIndex> {
  const answer = await fetch(url, { credentials: 'omit' });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return (await answer.json()) as SearchIndex;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  );
}

function close({ list, status }: Parts): void {
  list.hidden = true;
  list.replaceChildren();
  status.textContent = '';
}

function say(parts: Parts, text: string): void {
  const item = document.createElement('li');
  item.className = 'none';
  item.textContent = text;
  parts.list.replaceChildren(item);
  parts.list.hidden = false;
  parts.status.textContent = text;
}

function show(parts: Parts, found: readonly Found[], query: string): void {
  if (found.length === 0) {
    say(parts, `No page has “${query.trim()}”.`);
    return;
  }
  parts.list.replaceChildren(
    ...found.map(({ url, page, section }) => {
      const link = document.createElement('a');
      link.href = url;
      const name = document.createElement('span');
      name.textContent = section === '' ? page : section;
      link.append(name);
      if (section !== '') {
        const under = document.createElement('small');
        under.textContent = page;
        link.append(under);
      }
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
  parts.list.hidden = false;
  parts.status.textContent = found.length === 1 ? '1 place' : `${found.length} places`;
}

/** Arrows move through what was found, Enter in the field opens the first, Escape goes back and closes. */
function onKey(event: KeyboardEvent, parts: Parts): void {
  const links = [...parts.list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement as HTMLAnchorElement);
  switch (event.key) {
    case 'ArrowDown':
      links[Math.min(at + 1, links.length - 1)]?.focus();
      break;
    case 'ArrowUp':
      if (at <= 0) parts.input.focus();
      else links[at - 1]?.focus();
      break;
    case 'Enter':
      if (at >= 0) return;
      links[0]?.click();
      break;
    case 'Escape':
      close(parts);
      parts.input.focus();
      break;
    default:
      return;
  }
  event.preventDefault();
}
