import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import { describe, expect, test } from 'vitest'
import { root } from '../../tools/bundle.mjs'

const text = readFileSync(join(import.meta.dirname, 'Dockerfile'), 'utf8')
const lines = text.split('\n').map((line) => line.trim())
const instructions = (name: string) =>
  lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))

describe('the Dockerfile', () => {
  test('is one', () => {
    const flaws = (source: string) => validate(source).map(({ message }) => message)
    expect(flaws(text)).toEqual([])
    expect(flaws(text.replace('WORKDIR /opt/svc', 'WORKDR /opt/svc'))).toHaveLength(1)
  })

  test('is based on trixie, whose C library uWebSockets.js loads with', () => {
    expect(instructions('ARG')[0]).toBe('NODE_IMAGE=node:22-trixie-slim')
    const bases = instructions('FROM').map((line) => line.split(' ')[0])
    const stages = instructions('FROM').map((line) => line.split(' ')[2])
    // oxlint-disable-next-line no-template-curly-in-string -- the Dockerfile's own variable
    const known = ['${NODE_IMAGE}', ...stages]
    expect(bases.filter((base) => !known.includes(base ?? ''))).toEqual([])
  })

  test('runs as nobody in particular, and without a shell between signals and the program', () => {
    expect(instructions('USER')).toEqual(['10001:10001'])
    expect(instructions('ENV')[0]).toContain('HOME=/nonexistent')
    expect(instructions('STOPSIGNAL')).toEqual(['SIGTERM'])
    expect(instructions('ENTRYPOINT')).toEqual(['[]'])
    for (const command of instructions('CMD'))
      expect(JSON.parse(command)).toEqual(['node', expect.stringMatching(/^\/opt\/svc\/.*\.mjs$/)])
  })

  test('asks for its health what is laid out for it', () => {
    expect(instructions('HEALTHCHECK')[0]).toMatch(/ CMD \["node", "\/opt\/svc\/health\.mjs"\]$/)
  })

  test('copies what is there, and the context holds it', () => {
    const copied = instructions('COPY')
      .filter((line) => !line.includes('--from='))
      .map((line) => line.split(' ').filter((word) => !word.startsWith('--'))[0] ?? '')
    expect(copied).toEqual(['.', 'infra/images/svc-admin'])
    const kept = readFileSync(join(import.meta.dirname, 'Dockerfile.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    expect(kept.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      workspaces: string[]
    }
    expect(kept).toEqual(expect.arrayContaining([...workspaces, 'tools', 'infra/images']))
  })
})
