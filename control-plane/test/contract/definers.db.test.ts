import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { databaseForFile } from '../harness/database.ts'

/**
 * Functions that run as the tables' owner: each is a door in the second wall, opened before there is a scope (a login, a token, a
 * key). A new one needs a reason why no scope can be had.
 */
const doors = {
  // kernel: who calls, and what is written down of whom nobody knows
  load_caller: ['svc_app'],
  write_audit: ['svc_app', 'svc_worker'],
  // the words of the audit log: behind a policy no index on them can be used; rows are read under both walls
  index_audit: [],
  audit_matches: ['svc_app'],
  audit_among: ['svc_app'],
  load_api_key: ['svc_app'],
  note_api_key_uses: ['svc_app'], // of many tenants' keys at once
  // whose key it is: the API reads no credential of a device
  device_of_key: ['svc_app'],
  // login, second factor, refresh
  login_account: ['svc_app'],
  upgrade_password_hash: ['svc_app'],
  open_session: ['svc_app'],
  open_mfa_challenge: ['svc_app'], // of the version before
  open_challenge: ['svc_app'],
  try_mfa_challenge: ['svc_app'],
  close_mfa_challenge: ['svc_app'],
  use_totp_step: ['svc_app'],
  use_recovery_code: ['svc_app'],
  own_account: ['svc_app'],
  second_factor_of: ['svc_app'],
  renew_second_factor: ['svc_app'],
  begin_mfa_setup: ['svc_app'],
  pending_mfa_setup: ['svc_app'],
  confirm_mfa_setup: ['svc_app'],
  use_refresh_token: ['svc_app'],
  store_successor: ['svc_app'],
  end_sessions: ['svc_app'],
  // mailed links, and what they are for
  issue_user_token: ['svc_app', 'svc_worker'],
  read_user_token: ['svc_app'],
  use_user_token: ['svc_app'],
  set_password: ['svc_app'],
  // invitations: of whoever has the link, and what becomes of them
  read_invitation: ['svc_app'],
  accept_invitation: ['svc_app'],
  await_invitation: ['svc_app'],
  // accounts: they are nobody's property, and a tenant sees its members' alone
  invite_account: ['svc_app'], // of the version before
  activate_account: ['svc_app'], // likewise
  change_own_profile: ['svc_app'],
  change_account: ['svc_app'],
  end_membership_sessions: ['svc_app'],
  // passwords, phones, registration
  password_of: ['svc_app'],
  change_password: ['svc_app'],
  security_of: ['svc_app'],
  renew_login: ['svc_app'],
  disable_second_factor: ['svc_app'],
  replace_recovery_codes: ['svc_app'],
  begin_phone_check: ['svc_app'],
  try_phone_code: ['svc_app'],
  use_phone_code: ['svc_app'],
  set_phone: ['svc_app'],
  enable_sms_factor: ['svc_app'],
  sms_challenge: ['svc_app'],
  set_challenge_code: ['svc_app'],
  register_account: ['svc_app'],
  register_partner: ['svc_app'],
  // single sign-on: before it is known whose login it is, and of tables that are closed to the API
  sso_provider_of: ['svc_app'],
  note_sso_metadata: ['svc_app'], // whoever logs in finds that it is old
  begin_sso_login: ['svc_app'],
  take_sso_login: ['svc_app'],
  sso_account: ['svc_app'],
  provision_sso_account: ['svc_app'],
  issue_sso_code: ['svc_app'],
  use_sso_code: ['svc_app'],
  mark_sso_session: ['svc_app'],
  sso_of_session: ['svc_app'],
  mark_sso_challenge: ['svc_app'],
  password_home: ['svc_app', 'svc_worker'],
  challenge_home: ['svc_app'],
  hold_password_login: ['svc_app'],
  end_sso_sessions: ['svc_app'],
  end_password_sessions: ['svc_app'],
  is_of_organization_alone: ['svc_app'],
  accept_sso_invitation: ['svc_app'],
  // agents
  use_enrollment_key: ['svc_app'],
  use_enrollment_key_of_device: ['svc_app'],
  devices_of_partner: ['svc_app'], // an enrollment sees its own organization alone
  // tenants that are suspended or given up: the tables of logins are closed to the API
  end_tenant_sessions: ['svc_app'],
  // the chains of the audit log: nobody but this function may append to them
  seal_audit: ['svc_worker'],
  // the job queue: its tables are closed to the API, and a job belongs to no tenant
  enqueue: ['svc_app', 'svc_worker'],
} as const

const database = await databaseForFile()
const sql = postgres(database.url, { onnotice: () => undefined })
afterAll(() => sql.end())

interface Definition {
  name: string
  owner: string
  definer: boolean
  settings: string[]
  callers: string[]
}

const functions = await sql<Definition[]>`
  select p.proname as name, p.proowner::regrole::text as owner, p.prosecdef as definer, coalesce(p.proconfig, '{}') as settings,
    coalesce((select array_agg(distinct case when a.grantee = 0 then 'public' else a.grantee::regrole::text end)
      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      where a.privilege_type = 'EXECUTE' and a.grantee <> p.proowner), '{}') as callers
  from pg_proc p where p.pronamespace = 'svc'::regnamespace order by p.proname`
const definers = functions.filter(({ definer }) => definer)

test('functions that run as the owner are those on the list, each callable by whom it says', () => {
  expect(Object.fromEntries(definers.map(({ name, callers }) => [name, callers.toSorted()]))).toEqual(doors)
  expect(definers).toHaveLength(Object.keys(doors).length)
})

test('each of them has a fixed search path that ends with pg_temp, and a scope of its own', () => {
  const lax = definers.filter(
    ({ settings }) =>
      !settings.includes('search_path=svc, pg_temp') || !settings.includes('app.scope="system"'),
  )
  expect(lax).toEqual([])
})

test('each of them belongs to an owner that can be nobody’s login and bypasses nothing', async () => {
  expect(new Set(definers.map(({ owner }) => owner))).toEqual(new Set(['svc_owner']))
  const [owner] =
    await sql`select rolcanlogin or rolsuper or rolbypassrls as strong from pg_roles where rolname = 'svc_owner'`
  expect(owner).toEqual({ strong: false })
})

test('no function at all may be called by everybody', () => {
  expect(functions.filter(({ callers }) => callers.includes('public')).map(({ name }) => name)).toEqual([])
})

test('the scope that such a function gives itself ends with it', async () => {
  const seen = await sql.begin(async (tx) => {
    await tx`set local role svc_app`
    await tx`select svc.load_caller(${crypto.randomUUID()})`
    return tx`select nullif(current_setting('app.scope', true), '') as scope`
  })
  expect(seen).toMatchObject([{ scope: null }])
})
