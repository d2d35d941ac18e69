import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { DataFolder } from './data-folder.ts'
import type { StartOptions } from './options.ts'
import { controlPlaneSettings, gatewaySettings } from './settings.ts'

afterEach(() => vi.unstubAllEnvs())

test('what switches do not stand for comes from the environment, which wins over our own defaults, too', () => {
  const data = mkdtempSync(join(tmpdir(), 'svc-settings-'))
  onTestFinished(() => rmSync(data, { recursive: true }))
  const options = {
    data,
    host: '127.0.0.1',
    port: 8001,
    mqttPort: 'off',
    gatewayPort: 8002,
    agents: 0,
  } as StartOptions
  const given = { TRUSTED_PROXIES: '10.0.0.0/8', UPDATE_OFFER_MS: '4000', PORT: '1', BINARY_SOURCE: 'github' }
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value)
  const folder = new DataFolder(data).open()
  expect(controlPlaneSettings(options, folder, 'postgres://x', undefined)).toMatchObject({
    ...given,
    PORT: '8001',
  })
  expect(gatewaySettings(options, folder, undefined)).toMatchObject({
    TRUSTED_PROXIES: '10.0.0.0/8',
    GATEWAY_PORT: '8002',
  })
})
