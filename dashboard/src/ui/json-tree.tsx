export interface JsonTreeProps {
  readonly value: unknown;
  /** Name of the value in its parent. */
  readonly name?: string;
  /** Levels that are open at first. Default 2. */
  readonly open?: number;
}

/** Members of one level that are shown at most: a document of a record is small, but may be flat. */
const SHOWN_MAX = 200;

/** A JSON value as a tree that opens and closes. */
export function JsonTree({ value, name, open = 2 }: JsonTreeProps) {
  const label = name === undefined ? null : <span class="t-name">{name}: </span>;
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-leaf code">
        {label}
        <span class={typeof value === 'string' ? 't-string' : 't-number'}>{JSON.stringify(value)}</span>
      </div>
    );
  }
  const members = Object.entries(value);
  const size = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`;
  return (
    <details class="json-tree code" open={open > 0}>
      <summary>
        {label}
        {size}
      </summary>
      {members.slice(0, SHOWN_MAX).map(([key, member]) => (
        <JsonTree key={key} name={key} value={member} open={open - 1} />
      ))}
      {members.length > SHOWN_MAX ? <div class="json-leaf">…</div> : null}
    </details>
  );
}
