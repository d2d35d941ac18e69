import type { Stage } from '../stage/stage.ts'

export interface LoginBody {
  email: string
  password: string
}

/** Partner users of the stage's tenant with the administrator's password and no second factor. */
export async function fillPeople({ sql, place, tenant }: Stage, count: number): Promise<LoginBody[]> {
  const { partnerId, userId } = place
  const made = await sql<{ email: string }[]>`
    with made as (
      insert into users (id, email, name, status, password_hash, email_verified_at)
      select gen_random_uuid(), 'crowd-' || n || '@bench.example', 'One of a crowd', 'active', u.password_hash, now()
      from users u, generate_series(1, ${count}) n where u.id = ${userId}
      returning id, email),
    member as (
      insert into partner_memberships (partner_id, user_id, role_id, org_access, org_ids)
      select ${partnerId}, made.id, r.id, 'all', '{}' from made, lateral (
        select id from roles where partner_id = ${partnerId} and org_id is null and not force_mfa order by name limit 1) r
      returning user_id)
    select email from made where id in (select user_id from member)`
  if (made.length !== count) throw new Error(`${made.length} people instead of ${count}`)
  return made.map(({ email }) => ({ email, password: tenant.password }))
}
