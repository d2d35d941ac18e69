import { expect, test } from 'vitest'
import type { Client } from '../../../../kernel/context.ts'
import { isSameOrigin, mayUseCookie } from './cookies.ts'

const publicUrl = 'https://svc.example/console'
const client = (headers: Record<string, string>, cookies: Record<string, string> = {}): Client => ({
  requestId: 'r',
  ip: '127.0.0.1',
  userAgent: undefined,
  header: (name) => headers[name],
  cookie: (name) => cookies[name],
  gone: new AbortController().signal,
})

test.each([
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'same-site', origin: 'https://svc.example' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ 'sec-fetch-site': 'none' }, false],
  [{ origin: 'https://svc.example' }, true],
  [{ origin: 'https://evil.svc.example' }, false],
  [{ origin: 'http://svc.example' }, false],
  [{ origin: 'null' }, false],
  [{}, false],
])('%j is the same origin: %s', (headers, same) => {
  expect(isSameOrigin(client(headers as Record<string, string>), publicUrl)).toBe(same)
})

test('a cookie counts with its proof in the header and from a page of ours, never with one of them alone', () => {
  const page = { 'sec-fetch-site': 'same-origin' }
  const cookies = { svc_csrf_token: 'proof' }
  expect(mayUseCookie(client({ ...page, 'x-svc-csrf': 'proof' }, cookies), publicUrl)).toBe(true)
  expect(mayUseCookie(client({ ...page, 'x-svc-csrf': 'guess' }, cookies), publicUrl)).toBe(false)
  expect(mayUseCookie(client(page, cookies), publicUrl)).toBe(false)
  expect(mayUseCookie(client({ ...page, 'x-svc-csrf': '' }, { svc_csrf_token: '' }), publicUrl)).toBe(false)
  expect(mayUseCookie(client({ 'x-svc-csrf': 'proof' }, cookies), publicUrl)).toBe(false)
})
