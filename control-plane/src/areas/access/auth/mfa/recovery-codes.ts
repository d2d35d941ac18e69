import { createHash, randomBytes } from 'node:crypto'

/** RFC 4648 §6. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const count = 10
/** 125 bits: a plain digest of so much randomness cannot be guessed back. */
const length = 25

const recoveryCode = () => [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join('')

/** Ten fresh codes, each good once. */
export const makeRecoveryCodes = (): string[] => Array.from({ length: count }, recoveryCode)

/** All that is stored of a code. */
export const recoveryCodeHash = (userId: string, code: string): Buffer =>
  createHash('sha256').update(`${userId}:${code}`).digest()

export const isRecoveryCode = (code: string): boolean => code.length === length
