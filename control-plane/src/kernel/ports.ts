import type { Bus } from '@svc/proto/bus'
import type { Clock } from '../adapters/clock.ts'
import type { Oidc } from '../adapters/oidc/oidc.ts'
import type { Egress } from '../adapters/egress.ts'
import type { Mailer } from '../adapters/mail/mail.ts'
import type { ReleaseSource } from '../adapters/releases.ts'
import type { Passwords } from '../adapters/passwords.ts'
import type { Sms } from '../adapters/sms/sms.ts'
import type { SigningKeys } from '../adapters/signing-keys.ts'
import type { Tokens } from '../adapters/tokens.ts'
import type { Totp } from '../adapters/totp.ts'
import type { Config } from '../config.ts'
import type { Secrets } from '../adapters/secrets.ts'
import type { ApiKeys } from './api-keys.ts'
import type { Callers } from './callers.ts'
import type { Limits } from './limits.ts'
import type { Cursors } from './page.ts'

/** Everything outside the process that a handler may reach, as small interfaces. Tests hand in their own clock; nothing else. */
export interface Ports {
  config: Config
  clock: Clock
  bus: Bus
  /** this process's name on the bus: `api:{node}` */
  node: string
  tokens: Tokens
  passwords: Passwords
  totp: Totp
  secrets: Secrets
  /** what sends mail; whoever has one to send calls `queueMail` */
  mailer: Mailer
  /** undefined: none is configured */
  sms: Sms | undefined
  /** logins at organizations' identity providers */
  oidc: Oidc
  /** the only way out to addresses that a tenant can influence */
  egress: Egress
  /** Ed25519 keys that sign commands */
  signingKeys: SigningKeys
  /** where releases of agents come from */
  releases: ReleaseSource
  limits: Limits
  /** what is known of users' standing: tell it when that changed */
  callers: Callers
  /** what is known of API keys: tell it when one changed */
  apiKeys: Pick<ApiKeys, 'changed'>
  /** for lists with an envelope of their own; `list()` does it by itself */
  cursors: Cursors
}
