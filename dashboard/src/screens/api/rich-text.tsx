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
        <ul>
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

export function Marked({ text }: { readonly text: string }) {
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
