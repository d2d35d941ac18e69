import { decodeJwt, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import type { Idp } from './idp.ts'

type Key = Parameters<SignJWT['sign']>[0]

/** From here on the provider's ID tokens are changed, and signed again: with its own key, unless another one is given. */
export function forge(
  idp: Idp,
  change: (claims: JWTPayload) => JWTPayload,
  header: Partial<JWTHeaderParameters> = {},
  key: Key = idp.key.privateKey,
): void {
  idp.tamper['/token'] = async (body) => {
    const claims = change(decodeJwt(String(body['id_token'])))
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: idp.key.kid, ...header })
    return { ...body, id_token: await token.sign(key) }
  }
}
