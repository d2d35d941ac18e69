import { fstatSync, openSync, closeSync, readFileSync } from 'node:fs'

/** A secret that cannot be had from its file. The message is one line that names the variable and never shows what the file holds. */
export class SecretFileError extends Error {
  override name = 'SecretFileError'
}

const othersMayRead = 0o004
/** Longer than any address or key: whoever names a disk image by mistake is told, not out of memory. */
const maxBytes = 64 * 1024

/**
 * The environment with each of these variables taken from the file that `<name>_FILE` names, if that is set: files are how container
 * engines and service managers hand over secrets, and unlike variables they show in no listing of processes. One line end at the
 * end of the file is not part of the secret.
 *
 * @param names of the variables that are secrets
 * @throws SecretFileError when the variable is set as well, or the file cannot be read, is empty, or may be read by everybody
 */
export function withSecretFiles(
  env: Record<string, string | undefined>,
  names: readonly string[],
): Record<string, string | undefined> {
  const secrets = names.flatMap((name) => {
    const variable = `${name}_FILE`
    const path = env[variable]
    if (!path) return []
    if (env[name]) throw new SecretFileError(`${variable}: ${name} is set, too`)
    return [[name, readSecret(variable, path)]]
  })
  return { ...env, ...Object.fromEntries(secrets) }
}

function readSecret(variable: string, path: string): string {
  const { bytes, mode, size } = readOpen(variable, path)
  if (mode & othersMayRead) throw new SecretFileError(`${variable}: everybody may read ${path}: chmod o-r it`)
  if (size > maxBytes) throw new SecretFileError(`${variable}: ${path} is larger than a secret`)
  const secret = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (secret === '') throw new SecretFileError(`${variable}: ${path} is empty`)
  return secret
}

/** Mode and content of one file, whatever its name stands for a moment later. */
function readOpen(variable: string, path: string) {
  try {
    const file = openSync(path, 'r')
    try {
      const { mode, size } = fstatSync(file)
      return { bytes: size > maxBytes ? Buffer.alloc(0) : readFileSync(file), mode, size }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw new SecretFileError(`${variable}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
}
