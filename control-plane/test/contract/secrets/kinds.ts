/** Where secrets of one kind go in, come out and lie. */
export interface Kind {
  /** fields of bodies and answers, by whatever operation */
  fields?: readonly string[]
  /** headers and cookies of requests */
  headers?: readonly string[]
  cookies?: readonly string[]
  /** variables of the programs */
  variables?: readonly string[]
  /** `table.column` that something made from it lies in: a digest, or sealed */
  columns?: readonly string[]
}

/**
 * Every kind of secret that there is. `complete.test.ts` compares it with what the product takes, shows and stores; agent-sim/test/system/secrets uses a secret
 * of each kind and looks for it everywhere.
 */
export const kinds = {
  password: { fields: ['password', 'currentPassword', 'newPassword'], columns: ['users.password_hash'] },
  'TOTP secret': {
    fields: ['secret', 'otpAuthUrl', 'qrCodeDataUrl'],
    columns: ['users.totp_secret', 'mfa_setups.secret'],
  },
  'recovery code': {
    fields: ['code', 'recoveryCodes'],
    columns: ['users.recovery_code_hashes', 'mfa_setups.recovery_codes', 'mfa_setups.recovery_code_hashes'],
  },
  'TOTP code': { fields: ['code'] },
  'SMS code': { fields: ['code'], columns: ['phone_codes.code_hash', 'mfa_challenges.sms_code_hash'] },
  tempToken: { fields: ['tempToken'], columns: ['mfa_challenges.token_hash'] },
  'access token': { fields: ['accessToken'], headers: ['authorization'] },
  'refresh token': {
    fields: ['refreshToken'],
    cookies: ['svc_refresh_token'],
    columns: ['refresh_tokens.token_hash'],
  },
  'CSRF token': { headers: ['x-svc-csrf'], cookies: ['svc_csrf_token'] },
  'token of a link': {
    fields: ['token'],
    columns: ['user_tokens.token_hash', 'invitations.token_hash', 'mfa_challenges.invite_hash'],
  },
  'client secret of an identity provider': {
    fields: ['clientSecret'],
    columns: ['sso_providers.client_secret'],
  },
  'SSO login': { cookies: ['svc_sso'], columns: ['sso_logins.browser_hash', 'sso_codes.browser_hash'] },
  'SSO state, nonce and verifier': {
    columns: ['sso_logins.state_hash', 'sso_logins.sealed'],
  },
  'SSO code': { fields: ['code'], columns: ['sso_codes.code_hash'] },
  'API key': { fields: ['key'], headers: ['x-api-key'], columns: ['api_keys.key_hash'] },
  'Idempotency-Key': {
    headers: ['idempotency-key'],
    columns: [
      'idempotency.key_hash',
      'refresh_tokens.retry_key_hash',
      'refresh_tokens.retry_answer',
      'idempotency.answer',
    ],
  },
  'enrollment key': { fields: ['key', 'enrollmentKey'], columns: ['enrollment_keys.key_hash'] },
  'device token': {
    fields: ['deviceToken'],
    headers: ['authorization'],
    columns: ['devices.token_sha256', 'devices.next_token_sha256', 'device_past_tokens.token_sha256'],
  },
  EDGE_SHARED_KEY: { variables: ['EDGE_SHARED_KEY'], headers: ['authorization'] },
  'database password': { variables: ['DATABASE_URL', 'DATABASE_APP_URL', 'DATABASE_WORKER_URL'] },
  'Redis password': { variables: ['REDIS_URL'] },
  'SMTP password': { variables: ['SMTP_URL'] },
  'SMS credential': { variables: ['SMS_TOKEN'] },
  'release token': { variables: ['RELEASE_TOKEN'] },
  'key file': { variables: ['KEYS_DIR'], columns: ['sealing_keys.proof'] },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof kinds
export const kindNames = Object.keys(kinds) as KindName[]
