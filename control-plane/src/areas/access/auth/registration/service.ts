import { v7 as uuid } from 'uuid'
import { queueMail } from '../../../../engines/mail/queue.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { withinLimit } from '../../../../kernel/limits.ts'
import { giveBuiltInRoles } from '../../roles/built-in/service.ts'
import { requireGoodPassword } from '../password/policy.ts'
import {
  beginAttempt,
  insertAccount,
  insertAdministrator,
  insertPartner,
  type NewAccount,
  undoAttempt,
} from './queries.ts'
import type { Register, Registered, RegisterPartner } from './schema.ts'
import { slugOf, suffixed } from './slug.ts'

type Body = Register & Partial<Pick<RegisterPartner, 'companyName'>>
type RegisterCtx<B = Body> = Ctx<Record<string, never>, unknown, B>

interface Checked {
  /** of the password */
  hash: string
  /** that the address has an account: whoever registers it again and again fills no mailbox */
  mayRemind: boolean
}

/** Before the transaction, and for known addresses too: neither the answer nor its time tells of an account. */
export async function checkRegistration({ ports, body }: RegisterCtx): Promise<Checked> {
  const { email, name, password, companyName = '' } = body
  await requireGoodPassword({ password, known: [email, name, companyName] })
  const mayRemind = await withinLimit(ports.limits.hit('register-account', { email }))
  return { hash: await ports.passwords.hash(password), mayRemind }
}

/** An account that belongs to nobody and can only be invited. */
export async function register(
  ctx: RegisterCtx<Register>,
  { hash, mayRemind }: Checked,
): Promise<Registered> {
  const account = accountOf(ctx, hash)
  const { id, email, name } = account
  // Whoever asks, with whatever login: the account is no tenant's.
  const db = await ctx.establish({ kind: 'nobody' })
  const fresh = await insertAccount(db, account)
  if (fresh)
    ctx.audited({
      type: 'user',
      id,
      name: email,
      actor: { type: 'user', id, email },
      details: { partner: false },
    })
  else ctx.audited('none')
  if (fresh || mayRemind) await tellOwner(ctx, account, fresh)
  return { email, name }
}

/**
 * The partner, its built-in roles and its first administrator, or nothing of it. For a known address the same is done and undone:
 * the time of the answer tells no more than its words.
 */
export async function registerPartner(
  ctx: RegisterCtx<RegisterPartner>,
  { hash, mayRemind }: Checked,
): Promise<Registered> {
  const account = accountOf(ctx, hash)
  const { id: userId, email, name } = account
  const fresh = await insertAccount(ctx.db, account)
  await beginAttempt(ctx.db)
  const { db, partner, roleId } = await makePartner(ctx, account.at)
  const { id: partnerId } = partner
  if (fresh) {
    await insertAdministrator(db, { partnerId, userId, roleId, at: account.at })
    const actor = { type: 'user', id: userId, email } as const
    ctx.audited({ type: 'partner', ...partner, partnerId, actor })
  } else {
    await undoAttempt(db)
    ctx.audited('none')
  }
  if (fresh || mayRemind) await tellOwner(ctx, account, fresh)
  return { email, name }
}

async function makePartner(ctx: RegisterCtx<RegisterPartner>, at: Date) {
  const partner = { id: uuid(), name: ctx.body.companyName }
  await insertWithFreeSlug(ctx, { ...partner, at })
  const db = await ctx.establish({ kind: 'tenant', partnerId: partner.id, orgs: 'all' })
  const roleId = await giveBuiltInRoles(db, { partnerId: partner.id, orgId: null })
  return { db, partner, roleId }
}

const accountOf = ({ body: { email, name }, ports }: RegisterCtx, hash: string): NewAccount => ({
  id: uuid(),
  email,
  name,
  hash,
  at: ports.clock.now(),
})

/** Many are called the same: the second gets a suffix. */
async function insertWithFreeSlug(
  { db }: RegisterCtx<RegisterPartner>,
  partner: { id: string; name: string; at: Date },
): Promise<void> {
  const slug = slugOf(partner.name)
  if (await insertPartner(db, { ...partner, slug })) return
  for (let tries = 0; tries < 5; tries++)
    if (await insertPartner(db, { ...partner, slug: suffixed(slug) })) return
  throw new Error(`no free slug like ${slug} was found`)
}

/** The name is what a stranger typed, or a stranger's own: the mail is addressed without it. */
const tellOwner = (ctx: RegisterCtx, { email }: NewAccount, fresh: boolean) =>
  queueMail(ctx, { to: { name: '', email }, kind: fresh ? 'account-made' : 'account-exists', data: {} })
