/** What the step `0004-changes` adds: where a customer's changes stand in the log. */
export const CHANGES = `
create table feed_units (
  owner text not null,
  first integer not null,
  last integer not null,
  primary key (owner, last)
) strict, without rowid;
`;
