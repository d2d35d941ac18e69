import { createHash, createPrivateKey, randomBytes } from 'node:crypto'
import type { KindName } from '../../../../control-plane/test/contract/secrets/kinds.ts'

/** Something that must be found nowhere. */
export interface Canary {
  kind: KindName
  /** which of its kind */
  what: string
  /** the part of it that nobody could guess, as it is written or as its bytes are */
  secret: Buffer
}

/** Six digits, and what must not be stored in their place. */
export interface Digits {
  kind: KindName
  code: string
}

/** A secret that its user chooses: nothing in it tells what it is, and every way of writing it down changes it. */
export const chosen = (): string =>
  `${randomBytes(24).toString('base64url')}"\\ +/%&=${randomBytes(6).toString('hex')}`

/** One that goes into a header, and so keeps to the characters of tokens. */
export const chosenToken = (): string => randomBytes(24).toString('base64url')

/** What is random in what the product makes: the rest names a kind, an id, a key. */
const randomParts: Partial<Record<KindName, RegExp>> = {
  'access token': /\.([\w-]+)$/,
  'refresh token': /^svcr_(.+)$/,
  tempToken: /^svct_(.+)$/,
  'token of a link': /^svcl_(.+)$/,
  'enrollment key': /^svce_(.+)$/,
  'SSO code': /^(?:svcs_)?(.+)$/,
  'API key': /^svc_[0-9A-Za-z]{10}_([0-9A-Za-z]{43})_/,
  'device token': /^svca_[0-9a-f]{32}_([\w-]{43})_/,
}

const shortest = 12

/** What the run has used so far. */
export class Canaries {
  readonly all: Canary[] = []
  readonly digits: Digits[] = []

  /** One that the run chose. */
  choose(kind: KindName, what: string, make: () => string = chosen): string {
    const value = make()
    this.#add({ kind, what, secret: Buffer.from(value) })
    return value
  }

  /** One that the product made, as it was shown. */
  shown(kind: KindName, what: string, value: string | undefined): string {
    const form = randomParts[kind]
    const part = form ? form.exec(value ?? '')?.[1] : value
    if (value === undefined || part === undefined) throw new Error(`${what} is no ${kind}: ${value}`)
    this.#add({ kind, what, secret: Buffer.from(part) })
    return value
  }

  /** Of a key file: the bytes that are private, however they are written. */
  key(what: string, text: string): void {
    const secret = text.includes('PRIVATE KEY')
      ? Buffer.from(createPrivateKey(text).export({ format: 'jwk' }).d ?? '', 'base64url')
      : Buffer.from(text.trim(), 'hex')
    this.#add({ kind: 'key file', what, secret })
  }

  /**
   * Six digits that were used for somebody. They can be guessed back from any digest that needs no key: those that suggest themselves
   * are looked for as well.
   *
   * @param salts what is known of whom they were for
   */
  code(kind: KindName, code: string | undefined, salts: readonly string[]): string {
    if (code === undefined || !/^\d{6}$/.test(code)) throw new Error(`not a code: ${code}`)
    this.digits.push({ kind, code })
    const texts = [
      code,
      ...salts.flatMap((salt) => [`${salt}:${code}`, `${code}:${salt}`, salt + code, code + salt]),
    ]
    for (const name of ['md5', 'sha1', 'sha256', 'sha512'])
      for (const text of texts)
        this.all.push({
          kind,
          what: `its ${name} without a key`,
          secret: createHash(name).update(text).digest(),
        })
    return code
  }

  #add(canary: Canary): void {
    if (canary.secret.length < shortest) throw new Error(`${canary.what} is too short to be looked for`)
    if (!this.all.some(({ secret }) => secret.equals(canary.secret))) this.all.push(canary)
  }
}
