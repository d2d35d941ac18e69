import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSystem, type System } from '../harness/system.ts'
import { Canaries, chosenToken } from './canaries.ts'
import { Client } from './client.ts'
import { type MailServer, startMailServer } from './mail-server.ts'
import { OwnDatabase } from './own-database.ts'
import { type Provider, startProvider } from './provider.ts'
import { type Overheard, overhear } from './sinks.ts'

/** The whole product, with everything around it that it has a secret for. */
export interface Stage {
  system: System
  database: OwnDatabase
  canaries: Canaries
  client: Client
  mail: MailServer
  sms: Provider
  releases: Provider
  /** everything that is said to Redis */
  redisSaid: Overheard
  redisLog: string[]
  edgeSharedKey: string
  close(): Promise<void>
}

/** Brings it up, as talkative as it can be. */
export async function startStage(): Promise<Stage> {
  const canaries = new Canaries()
  const logins = {
    svc: canaries.choose('database password', 'of the owner'),
    svc_app: canaries.choose('database password', 'of the API'),
    svc_worker: canaries.choose('database password', 'of the worker'),
  }
  const edgeSharedKey = canaries.choose('EDGE_SHARED_KEY', 'of gateways and control planes', chosenToken)
  const database = new OwnDatabase()
  const [mail, sms, releases] = await Promise.all([
    startMailServer('mailer', canaries.choose('SMTP password', 'of the mail server')),
    startProvider(),
    startProvider(),
    database.start(logins),
  ])
  const redisLog: string[] = []
  const system = await startSystem({
    database: database.database,
    onRedisLog: (line) => redisLog.push(line),
    variables: {
      LOG_LEVEL: 'trace',
      DATABASE_URL: database.url('svc', logins.svc),
      DATABASE_APP_URL: database.url('svc_app', logins.svc_app),
      DATABASE_WORKER_URL: database.url('svc_worker', logins.svc_worker),
      EDGE_SHARED_KEY: edgeSharedKey,
      SMTP_URL: mail.url,
      MAIL_FROM: 'Service <noreply@svc.example>',
      SMS_DRIVER: 'http',
      SMS_URL: `${sms.url}/send`,
      SMS_TOKEN: canaries.choose('SMS credential', 'of the provider', chosenToken),
      RELEASE_HOST_URL: releases.url,
      RELEASE_REPO: 'acme/agent',
      RELEASE_TOKEN: canaries.choose('release token', 'of the release host', chosenToken),
      // An identity provider on loopback.
      EGRESS_ALLOW: '127.0.0.0/8',
      EGRESS_HTTP: 'true',
      EGRESS_PORTS: '1024-65535',
      ENABLE_REGISTRATION: 'true',
      GATEWAY_METRICS_PORT: '0',
      JOB_POLL_MS: '100',
    },
  }).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  canaries.shown('Redis password', 'of Redis', system.redis.password)
  for (const name of readdirSync(system.keysDir))
    canaries.key(name, readFileSync(join(system.keysDir, name), 'utf8'))
  const { email: _email, organizationId: _organization, siteId: _site, ...made } = system.tenant
  canaries.shown('password', 'of the administrator', made.password)
  canaries.shown('TOTP secret', 'of the administrator', made.totpSecret)
  canaries.shown('enrollment key', 'of the demo', made.enrollmentKey)
  return {
    system,
    database,
    canaries,
    client: new Client(`${system.apiUrl}/api/v1`),
    mail,
    sms,
    releases,
    redisSaid: await overhear(system.redis.url),
    redisLog,
    edgeSharedKey,
    close: async () => {
      await system.close()
      await mail.close()
      sms.close()
      releases.close()
    },
  }
}
