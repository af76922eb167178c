/** Two people change one record: what each of them changed since both read it. */

/** What a form edits. `expires_at` in ISO 8601, or null: never. */
export interface Editable {
  /** Base64. */
  readonly data: string;
  readonly content_type: string;
  /** How DNS answers carry the data. */
  readonly encoding: 'b64' | 'plain';
  readonly ttl_seconds: number;
  readonly expires_at: string | null;
}

export type EditableField = keyof Editable;
export type Side = 'mine' | 'theirs';

export interface FieldDifference {
  readonly field: EditableField;
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
  /** `both`: changed by both, to different values; somebody has to choose. `same`: both made the same change. */
  readonly by: Side | 'both' | 'same';
}

const FIELDS: readonly EditableField[] = ['data', 'content_type', 'encoding', 'ttl_seconds', 'expires_at'];

/** Only the fields that somebody changed. */
export function differences(base: Editable, mine: Editable, theirs: Editable): readonly FieldDifference[] {
  return FIELDS.flatMap((field) => {
    const [was, my, their] = [shown(base[field]), shown(mine[field]), shown(theirs[field])];
    if (was === my && was === their) return [];
    const by = my === their ? 'same' : was === their ? 'mine' : was === my ? 'theirs' : 'both';
    return [{ field, base: was, mine: my, theirs: their, by }];
  });
}

/** Whether the other one changed something that this form would overwrite or miss. */
export function isConflict(found: readonly FieldDifference[]): boolean {
  return found.some(({ by }) => by === 'both' || by === 'theirs');
}

/** Mine where I changed it alone, theirs where they did; `choices` decide where both did. */
export function merged(
  base: Editable,
  mine: Editable,
  theirs: Editable,
  choices: ReadonlyMap<EditableField, Side>,
): Editable {
  const fields = differences(base, mine, theirs).filter(
    ({ field, by }) => (choices.get(field) ?? by) === 'theirs',
  );
  return { ...mine, ...Object.fromEntries(fields.map(({ field }) => [field, theirs[field]])) };
}

/** The fields of `to` that differ from `from`: what a PATCH has to send. */
export function changedFields(from: Editable, to: Editable): readonly EditableField[] {
  return FIELDS.filter((field) => shown(from[field]) !== shown(to[field]));
}

function shown(value: string | number | null): string {
  return value === null ? '' : String(value);
}
