import type { Db } from '../../../../kernel/tenancy.ts'
import type { Profile } from './schema.ts'

export type OwnAccount = Pick<
  Profile,
  | 'id'
  | 'email'
  | 'name'
  | 'avatarUrl'
  | 'status'
  | 'mfaEnabled'
  | 'mfaMethod'
  | 'phoneVerified'
  | 'phoneLast4'
  | 'lastLoginAt'
  | 'passwordChangedAt'
  | 'createdAt'
  | 'updatedAt'
>

export const findOwnAccount = (db: Db, id: string) => db.one<OwnAccount>`select * from own_account(${id})`

/** What is undefined stays. */
export const changeOwnProfile = (
  db: Db,
  id: string,
  { name, avatarUrl }: { name?: string | undefined; avatarUrl?: string | null | undefined },
  at: Date,
) => db.one`
  select change_own_profile(${id}, ${name ?? null}::text, ${avatarUrl ?? null}::text, ${avatarUrl !== undefined}, ${at})`
