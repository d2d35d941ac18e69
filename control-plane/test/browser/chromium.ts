import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, test } from 'vitest'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome']

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The browser on PATH, if there is one. */
export const findChromium = (path = process.env['PATH'] ?? ''): string | undefined =>
  path
    .split(delimiter)
    .filter(Boolean)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isProgram)

/** Starts it. Its own sandbox is no use to root, which may not have one. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findChromium() ?? '',
    args: ['--disable-dev-shm-usage', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  })

/** A file's tests, or where there is no browser to be had one test that is seen to be skipped. */
export const browserTests = (name: string, tests: () => void): void => {
  if (findChromium()) describe(name, tests)
  else test.skip('skipped: needs chromium', () => undefined)
}
