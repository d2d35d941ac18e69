import { describe, expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'

const t = await testApp({ env: { TRACE_CALLERS: '10.1.0.0/16', TRUSTED_PROXIES: '10.2.0.1' } })
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const id = '0b0f7f1c-0000-4000-8000-000000000001'
const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'x-request-id': id }

/** Queues a command from there; what its row and the audit log keep. */
async function sendFrom(remoteAddress: string, more: Record<string, string> = {}) {
  const device = await t.make.device()
  const admin = await t.people.partnerAdmin(device.partnerId)
  const answer = await t.request(`POST /devices/${device.id}/commands`, admin, {
    body: { type: 'list_processes' },
    headers: { ...headers, ...more },
    remoteAddress,
  })
  const [row] = await t.owner<{ traceparent: string; requestId: string }[]>`
    select traceparent, request_id as "requestId" from svc.commands where device_id = ${device.id}`
  return { said: String(answer.headers['x-request-id']), row }
}

describe('a request’s trace', () => {
  test('is the caller’s, and its id too, where the caller is one of ours', async () => {
    const { said, row } = await sendFrom('10.1.2.3')
    expect(said).toBe(id)
    expect(row).toEqual({
      requestId: id,
      traceparent: expect.stringMatching(`^00-${traceId}-[0-9a-f]{16}-01$`),
    })
    expect(row?.traceparent).not.toContain('00f067aa0ba902b7')
  })

  test.each([
    ['a stranger', '203.0.113.9', {}],
    ['a stranger behind our proxy', '10.2.0.1', { 'x-forwarded-for': '203.0.113.9' }],
    ['who says to be one of ours', '203.0.113.9', { 'x-forwarded-for': '10.1.2.3' }],
  ])(
    'is made by us for %s: nobody writes in others’ history, or has it exported',
    async (_who, from, more) => {
      const { said, row } = await sendFrom(from, more)
      expect(said).not.toBe(id)
      expect(row).toEqual({
        requestId: said,
        traceparent: expect.stringMatching(`^00-${said.replaceAll('-', '')}-[0-9a-f]{16}-00$`),
      })
    },
  )

  test('an id that is no id is not taken', async () => {
    const { said, row } = await sendFrom('10.1.2.3', { 'x-request-id': 'x"; drop', traceparent: 'nonsense' })
    expect(said).toMatch(/^[0-9a-f-]{36}$/)
    expect(row?.requestId).toBe(said)
  })
})
