import { expect, test } from 'vitest'
import { help, parseSwitches, switches } from './switches.mjs'

test('every switch has its default, and a variable of the environment stands in for a switch', () => {
  expect(parseSwitches('start', [], {})).toMatchObject({
    data: '.svc',
    host: '127.0.0.1',
    port: 8080,
    agents: 200,
    noHostAgent: false,
  })
  expect(parseSwitches('start', [], { PORT: '9000' })).toMatchObject({ port: 9000 })
  expect(parseSwitches('start', ['--port', '9001'], { PORT: '9000' })).toMatchObject({ port: 9001 })
})

test('a switch that is unknown or has a wrong value is refused in one line', () => {
  const refusals = [
    ['--nonsense'],
    ['--port', 'x'],
    ['--port', '65536'],
    ['--port', '-1'],
    ['--bus', 'kafka'],
    ['extra'],
  ]
  for (const args of refusals) {
    expect(() => parseSwitches('start', args, {})).toThrow(/^[^\n]+$/)
  }
  expect(() => parseSwitches('start', [], { PORT: 'http' })).toThrow(
    '--port needs a number from 0 to 65535, not http',
  )
})

test('a negative number, a number out of range, and a switch that npm took say what to do', () => {
  expect(() => parseSwitches('start', ['--agents', '-1'], {})).toThrow(
    '--agents needs a number from 0 on, not -1',
  )
  expect(() => parseSwitches('start', ['--agents=-1'], {})).toThrow('--agents needs a number from 0')
  expect(() => parseSwitches('demo', ['--agents', '0'], {})).toThrow(
    '--agents needs a number from 1 to 5000, not 0',
  )
  const taken = { npm_lifecycle_event: 'start', npm_config_no_host_agent: 'true' }
  expect(() => parseSwitches('start', [], taken)).toThrow('npm start -- --no-host-agent')
  expect(parseSwitches('demo', [], { npm_lifecycle_event: 'demo', npm_config_json: 'true' })).toMatchObject({
    json: false,
  })
})

test('the help names every switch', () => {
  for (const command of ['start', 'demo', 'token'] as const) {
    const names = switches[command].map(([name]) => name as string)
    for (const name of names) expect(help(command)).toContain(`--${name}`)
  }
})
