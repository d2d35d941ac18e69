import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { SecretFileError, withSecretFiles } from './secret-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-secrets-'))
afterAll(() => rmSync(folder, { recursive: true }))

const file = (text: string, mode = 0o600) => {
  const path = join(folder, crypto.randomUUID())
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}
const read = (env: Record<string, string | undefined>) => withSecretFiles(env, ['URL', 'KEY'])

describe('a secret in a file', () => {
  test('stands for its variable, without the end of its line', () => {
    expect(read({ URL_FILE: file('redis://x\n'), KEY: 'k', OTHER: 'o' })).toMatchObject({
      URL: 'redis://x',
      KEY: 'k',
      OTHER: 'o',
    })
    expect(read({ KEY_FILE: file(' two\nlines \r\n', 0o640) })['KEY']).toBe(' two\nlines ')
  })

  test('is asked for by its own name only', () => {
    const env = { TLS_KEY_FILE: '/absent', URL_FILE: '', URL: 'u' }
    expect(read(env)).toEqual(env)
  })

  test.each<[string, () => Record<string, string>, RegExp]>([
    ['beside the variable', () => ({ KEY: 'k', KEY_FILE: file('k') }), /^KEY_FILE: KEY is set, too$/],
    ['absent', () => ({ KEY_FILE: join(folder, 'absent') }), /^KEY_FILE: cannot read .*absent: ENOENT$/],
    ['a folder', () => ({ KEY_FILE: folder }), /^KEY_FILE: cannot read .*: EISDIR$/],
    ['empty', () => ({ KEY_FILE: file('\n') }), /^KEY_FILE: .* is empty$/],
    ['open to everybody', () => ({ KEY_FILE: file('sesame', 0o604) }), /^KEY_FILE: everybody may read /],
    ['no secret at all', () => ({ KEY_FILE: file('x'.repeat(70_000)) }), /^KEY_FILE: .* is larger than/],
  ])('that is %s is refused in one line that names the variable', (_what, env, line) => {
    const given = env()
    expect(() => read(given)).toThrow(SecretFileError)
    expect(() => read(given)).toThrow(line)
    expect(() => read(given)).not.toThrow('sesame')
  })

  test('is taken from what a link points at, as a mounted one is', () => {
    const link = join(folder, 'link')
    symlinkSync(file('linked\n', 0o440), link)
    expect(read({ KEY_FILE: link })['KEY']).toBe('linked')
  })
})
