import type { ComponentChildren } from 'preact';

/** A text of the document, in which only `code` is marked. Lines that begin with `- ` become a list. */
export function RichText({ text }: { readonly text: string }) {
  const lines = text.split('\n').filter((line) => line !== '');
  const items = lines.filter((line) => line.startsWith('- '));
  return (
    <>
      {lines
        .filter((line) => !line.startsWith('- '))
        .map((line) => (
          <p key={line}>
            <Marked text={line} />
          </p>
        ))}
      {items.length === 0 ? null : (
        <ul class="api-errors">
          {items.map((line) => (
            <li key={line}>
              <Marked text={line.slice(2)} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** `docs/API.md` in a text becomes a link to the page of it on this server. */
const DOCUMENT = /\b(docs\/[\w/-]+\.md)\b/;

export function Marked({ text }: { readonly text: string }) {
  return (
    <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : linked(part)))}</>
  );
}

function linked(text: string): ComponentChildren {
  return text.split(DOCUMENT).map((part, at) =>
    at % 2 === 1 ? (
      <a key={at} href={`/${part.slice(0, -'.md'.length).toLowerCase()}`}>
        {part}
      </a>
    ) : (
      part
    ),
  );
}
