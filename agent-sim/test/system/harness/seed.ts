import { buildControlPlane, readConfig, seedDemo } from '@svc/control-plane'
import { MemoryBus } from '@svc/proto/bus'
import { pino } from 'pino'

/** What a tenant needs to begin with. */
export interface Tenant {
  email: string
  password: string
  totpSecret: string
  enrollmentKey: string
  organizationId: string
  siteId: string
}

/** Makes the tenant, and the keys in KEYS_DIR: programs that start together find both. */
export async function seed(env: Record<string, string>): Promise<Tenant> {
  const config = readConfig({ ...env, REDIS_URL: '' })
  const logger = pino({ level: 'silent' })
  const controlPlane = await buildControlPlane({ config, bus: new MemoryBus(), logger })
  const { secrets, email, organizationId, siteId } = await seedDemo(controlPlane.db, controlPlane.ports)
  await controlPlane.close()
  if (!secrets) throw new Error('the tenant was there already')
  const { password, totpSecret, enrollmentKey } = secrets
  return { email, password, totpSecret, enrollmentKey, organizationId, siteId }
}
