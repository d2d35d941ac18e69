import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { testApp } from '../harness/app.ts'
import { browserTests, openBrowser } from './chromium.ts'

const patience = 60_000

browserTests('the API reference in a browser', () => {
  let browser: Browser
  let page: Page
  let origin: string
  const [asked, complaints, refused]: [string[], string[], string[]] = [[], [], []]

  beforeAll(async () => {
    const { app } = await testApp()
    origin = await app.listen({ host: '127.0.0.1', port: 0 })
    browser = await openBrowser()
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
    page.setDefaultTimeout(patience)
    page.on('request', (request) => asked.push(request.url()))
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('console', (line) => {
      if (line.type() === 'error' || line.type() === 'warning') complaints.push(line.text())
    })
    page.on('requestfailed', (request) => refused.push(request.url()))
    await page.goto(`${origin}/docs`)
    await page.getByText('Log in with e-mail and password').first().waitFor()
  })
  afterAll(() => browser?.close())

  test('lists every operation of the table, under the first segment of its path', async () => {
    const sidebar = page.getByRole('navigation', { name: 'Sidebar for svc' })
    // All at once: to wait for each takes as long as to draw what the ones before it opened.
    const headings = await sidebar.getByRole('button').evaluateAll((buttons) =>
      buttons.map((button) => {
        if (button.getAttribute('aria-expanded') === 'false') (button as unknown as { click(): void }).click()
        return (button.textContent ?? '').replace(/^(Open|Close) Group/, '').trim()
      }),
    )
    const segments = new Set(routes.map(({ path }) => path.split('/')[1] ?? ''))
    expect([...segments].filter((segment) => !headings.includes(segment))).toEqual([])
    const missing = async () => {
      const listed = (await sidebar.innerText()).replaceAll(/\s+/g, ' ')
      return routes.filter(({ summary }) => !listed.includes(summary)).map(({ path }) => path)
    }
    await expect.poll(missing, { timeout: patience }).toEqual([])
  })

  test('finds an operation by a word and goes there', async () => {
    await page.getByRole('search').click()
    await page.getByRole('combobox', { name: 'Enter search query' }).fill('software')
    await page.getByRole('option', { name: '/devices/{id}/software' }).click()
    const name = 'The installed software that the agent reported, by name'
    await page.getByRole('heading', { name }).waitFor()
    expect(await page.getByRole('option').count()).toBe(0)
    expect(page.url()).toContain('software')
  })

  test('says nothing in the console, and asks nobody but this server', () => {
    expect(complaints).toEqual([])
    expect(refused).toEqual([])
    expect(asked.map((url) => url.replace(origin, '')).slice(0, 4)).toEqual([
      '/docs',
      '/docs/reference.js',
      '/docs/start.js',
      '/api/v1/openapi.json',
    ])
    const own = (url: string) => url.startsWith(`${origin}/`) || /^(data|blob):/.test(url)
    expect(asked.filter((url) => !own(url))).toEqual([])
  })

  test('and would have been seen to ask somebody else', async () => {
    await page.evaluate(() => fetch('https://elsewhere.example/').catch(() => undefined))
    await expect.poll(() => complaints.join()).toContain('Content Security Policy')
  })
})
