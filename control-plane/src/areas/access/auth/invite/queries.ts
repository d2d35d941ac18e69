import type { Db } from '../../../../kernel/tenancy.ts'

/** What a live link is an invitation to. */
export interface Invitation {
  id: string
  email: string
  /** as the inviter typed it */
  name: string
  partnerId: string
  orgId: string | null
  /** of the organization, or else of the partner */
  tenantName: string
  /** names of both, which are no password */
  tenants: string[]
  /** of a password that is chosen */
  minLength: number
  /** whose own password or login is needed; null: a password is chosen with the link */
  account: string | null
  /** null: the address has no account */
  accountStatus: 'active' | 'invited' | 'disabled' | null
}

/** Nothing comes back for a link that is unknown, used, replaced, over, or to what is suspended or gone. */
export const readInvitation = (db: Db, tokenHash: Buffer, at: Date) => db.one<Invitation>`
  select * from read_invitation(${tokenHash}, ${at})`

/** What an accepted invitation became: a membership of this user there. */
export interface Acceptance {
  invitationId: string
  userId: string
  email: string
  partnerId: string
  orgId: string | null
}

/**
 * Uses the link up, for exactly one of any number of callers; for the others nothing comes back, and nothing may be committed.
 *
 * @param by `account`: who has shown that it is theirs; `hash`: of the password that was chosen with the link
 */
export const acceptInvitation = (
  db: Db,
  tokenHash: Buffer,
  by: { account: string } | { hash: string },
  at: Date,
) => db.one<Acceptance>`
  select * from accept_invitation(${tokenHash}, ${'account' in by ? by.account : null}::uuid,
    ${'hash' in by ? by.hash : null}::text, ${at})`
