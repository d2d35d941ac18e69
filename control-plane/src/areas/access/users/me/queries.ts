import type { Db } from '../../../../kernel/tenancy.ts'

/** What is undefined stays. */
export const changeOwnProfile = (
  db: Db,
  id: string,
  { name, avatarUrl }: { name?: string | undefined; avatarUrl?: string | null | undefined },
  at: Date,
) => db.one`
  select change_own_profile(${id}, ${name ?? null}::text, ${avatarUrl ?? null}::text, ${avatarUrl !== undefined}, ${at})`
