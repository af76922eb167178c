import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Invitations to organizations. An organization is a customer with a name, and its members are in `memberships`. */
export async function organizations(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('invitations')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('customer_id', 'text', (c) => c.notNull().references('customers.id').onDelete('cascade'))
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull().unique())
    .addColumn('expires_at', int, (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .addUniqueConstraint('invitations_address', ['customer_id', 'email'])
    .modifyEnd(strict)
    .execute();
}
