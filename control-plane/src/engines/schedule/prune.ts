import type { Db } from '../../kernel/tenancy.ts'

/** Rows per statement: a backlog is worked off without long locks. */
const chunk = 5_000

type Prune = (tx: Db) => Promise<number>

/** What is kept for a time only: how to remove one chunk of what has had it. */
export const prunes = {
  // promise P10: an answer is remembered for 24 hours
  idempotency: (tx) => tx.run`
    delete from idempotency where ctid in (
      select ctid from idempotency where created_at < now() - interval '24 hours' limit ${chunk})`,
  // a window that is over counts for nothing
  rate_limits: (tx) => tx.run`
    delete from rate_limits where ctid in (select ctid from rate_limits where resets_at < now() limit ${chunk})`,
  // with its family goes what is known of its tokens: all of them are dead by then
  refresh_families: (tx) => tx.run`
    delete from refresh_families where id in (
      select id from refresh_families where expires_at < now() - interval '1 day' limit ${chunk})`,
  refresh_tokens: (tx) => tx.run`
    delete from refresh_tokens where token_hash in (
      select token_hash from refresh_tokens where idle_expires_at < now() - interval '1 day' limit ${chunk})`,
  mfa_challenges: (tx) => tx.run`
    delete from mfa_challenges where token_hash in (
      select token_hash from mfa_challenges where expires_at < now() limit ${chunk})`,
  mfa_setups: (tx) => tx.run`
    delete from mfa_setups where user_id in (select user_id from mfa_setups where expires_at < now() limit ${chunk})`,
  // a link that is over opens nothing
  user_tokens: (tx) => tx.run`
    delete from user_tokens where ctid in (select ctid from user_tokens where expires_at < now() limit ${chunk})`,
  // a browser that comes back late is told that it is late, for a day
  sso_logins: (tx) => tx.run`
    delete from sso_logins where ctid in (
      select ctid from sso_logins where expires_at < now() - interval '1 day' limit ${chunk})`,
  sso_codes: (tx) => tx.run`
    delete from sso_codes where ctid in (select ctid from sso_codes where expires_at < now() limit ${chunk})`,
  phone_codes: (tx) => tx.run`
    delete from phone_codes where user_id in (select user_id from phone_codes where expires_at < now() limit ${chunk})`,
  // twice as long as a gateway may remember a profile
  revocations: (tx) => tx.run`
    delete from revocations where id in (select id from revocations where at < now() - interval '48 hours' limit ${chunk})`,
  // whoever shows one of these has a copy of a device: a picture of a machine, or a backup of it, is brought back within a year
  device_past_tokens: (tx) => tx.run`
    delete from device_past_tokens where ctid in (
      select ctid from device_past_tokens where retired_at < now() - interval '1 year' limit ${chunk})`,
  outbox: (tx) => tx.run`
    delete from outbox where id in (select id from outbox where relayed_at < now() - interval '7 days' limit ${chunk})`,
  // a node that is gone for good; its name is not used again
  gateway_nodes: (tx) => tx.run`delete from gateway_nodes where lease_until < now() - interval '1 day'`,
  edge_watermarks: (tx) => tx.run`delete from edge_watermarks where through < now() - interval '1 day'`,
  // what happened when, for those who wonder later
  schedule_runs: (tx) => tx.run`
    delete from schedule_runs where ctid in (
      select ctid from schedule_runs where enqueued_at < now() - interval '90 days' limit ${chunk})`,
  // what will not happen again, with its runs
  schedule_entries: (tx) => tx.run`
    delete from schedule_entries where id in (
      select id from schedule_entries
      where enabled and due_at is null and updated_at < now() - interval '90 days' limit ${chunk})`,
} as const satisfies Record<string, Prune>

export type Prunable = keyof typeof prunes

/** Removes all that has had its time, chunk by chunk, each in its own transaction. Returns how many rows went. */
export async function prune(
  db: { tx<T>(work: (tx: Db) => Promise<T>): Promise<T> },
  what: Prunable,
): Promise<number> {
  let removed = 0
  for (;;) {
    const count = await db.tx((tx) => prunes[what](tx))
    removed += count
    if (count < chunk) return removed
  }
}
