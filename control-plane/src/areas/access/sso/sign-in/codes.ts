import type { OidcCode } from '../../../../adapters/oidc/oidc.ts'
import type { TakeOutcome } from './schema.ts'

/** What a login through a provider can end with: `/login?error=<code>` (interface §Errors; docs/choices.md "Single sign-on"). */
export type LoginError =
  | 'session_expired'
  | 'provider_not_found'
  | 'domain_not_allowed'
  | 'user_not_found'
  | 'default_role_required'
  | 'no_org_access'
  | 'invalid_callback'
  | 'sso_error'
  | 'sso_config_changed'
  | 'invalid_provider_configuration'
  | 'sso_no_id_token'
  | 'sso_no_subject'
  | 'sso_provider_unverified'
  | 'sso_subject_mismatch'
  | 'sso_email_unverified'
  | 'sso_link_required'
  | 'user_creation_failed'

export const ofOutcome: Record<Exclude<TakeOutcome, 'taken'>, LoginError> = {
  foreign: 'invalid_callback',
  expired: 'session_expired',
  gone: 'provider_not_found',
  changed: 'sso_config_changed',
}

export const ofOidc: Record<OidcCode, LoginError> = {
  UNREACHABLE: 'sso_error',
  METADATA: 'invalid_provider_configuration',
  REFUSED: 'sso_error',
  MISDIRECTED: 'invalid_callback',
  NO_ID_TOKEN: 'sso_no_id_token',
  NO_SUBJECT: 'sso_no_subject',
  UNVERIFIED: 'sso_provider_unverified',
  SUBJECT_MISMATCH: 'sso_subject_mismatch',
}
