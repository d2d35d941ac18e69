import { expect, test } from 'vitest'
import { thingsApp } from '../../test/harness/things.ts'
import { limits } from './limits.ts'

const { request, people, make, owner } = await thingsApp()
const partnerId = await make.partner()

const deniedOf = (userId: string) =>
  owner<{ partnerId: string | null; details: object }[]>`
    select partner_id as "partnerId", details from svc.audit_log where actor_id = ${userId} and result = 'denied'`

test('a refused authorization says in the log who asked for what, and in whose tenant', async () => {
  const person = await people.partnerMember(partnerId, 'all', { permissions: [] })
  expect((await request('GET /things', person)).status).toBe(403)
  const [row, ...more] = await deniedOf(person.userId)
  expect(row?.partnerId).toBe(partnerId)
  expect(row?.details).toMatchObject({ method: 'GET', path: '/things', code: 'FORBIDDEN' })
  expect(more).toEqual([])
})

test('nobody fills the log with refusals: beyond the limit they are answered and not written', async () => {
  const person = await people.partnerMember(partnerId, 'all', { permissions: [] })
  for (let i = 0; i < limits.denied.points + 5; i++) {
    expect((await request('GET /things', person)).status).toBe(403)
  }
  expect(await deniedOf(person.userId)).toHaveLength(limits.denied.points)
})

test('who is not known leaves no row', async () => {
  const before = await owner`select from svc.audit_log`
  expect((await request('GET /things')).status).toBe(401)
  expect(await owner`select from svc.audit_log`).toHaveLength(before.length)
})
