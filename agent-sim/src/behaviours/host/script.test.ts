import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { maxOutputBytes, type svc } from '@svc/proto'
import { expect, it } from 'vitest'
import { runScript } from './script.ts'
import { eventually, patient } from '../../../test/eventually.ts'

patient()

type Interpreter = Parameters<typeof runScript>[0]['interpreter']

let commands = 0

const run = (
  content: string,
  interpreter: Interpreter = 'sh',
  args: string[] = [],
  signal = new AbortController().signal,
) =>
  runScript(
    { interpreter, content, args, timeoutSeconds: 300 },
    { commandId: `test-${process.pid}-${(commands += 1)}`, signal },
  )

const text = (output: svc.v1.Output.$Properties | undefined) => Buffer.from(output?.data ?? []).toString()

const alive = (marker: string) =>
  execFileSync('ps', ['-eo', 'args'])
    .toString()
    .split('\n')
    .filter((line) => line.includes(marker)).length

it('runs sh, bash and python3 with arguments, as their own file that only the owner may touch', async () => {
  const sh = await run('echo "$1-$2"; echo bad >&2; stat -c %a "$0"', 'sh', ['a b', "c'd"])
  expect(sh).toMatchObject({ exitCode: 0, result: null })
  expect([text(sh.stdout), text(sh.stderr)]).toEqual(["a b-c'd\n700\n", 'bad\n'])
  expect(text((await run('x=(1 2); echo ${#x[@]}', 'bash')).stdout)).toBe('2\n')
  expect(text((await run('import sys; print(sys.argv[1:])', 'python3', ['x'])).stdout)).toBe("['x']\n")
})

it('leaves no file behind', async () => {
  const paths = [text((await run('echo $0')).stdout), text((await run('echo $0; exit 1')).stdout)]
  for (const path of paths) {
    expect(path).toMatch(/svc-script-/)
    expect(existsSync(dirname(path.trim()))).toBe(false)
  }
})

it('fails with the exit code, with the signal, or with what is not installed', async () => {
  expect(await run('exit 7')).toMatchObject({ exitCode: 7, failed: 'exit code 7' })
  const killed = await run('kill -SEGV $$')
  expect(killed).toMatchObject({ failed: 'ended by SIGSEGV' })
  expect(killed.exitCode).toBeUndefined()
  expect(await run('dir', 'cmd')).toMatchObject({ failed: 'cmd is not available on this system' })
})

it('gives end of file on stdin and no terminal', async () => {
  const done = await run('cat; echo "read: $?"; test -t 0 || echo no terminal')
  expect(text(done.stdout)).toBe('read: 0\nno terminal\n')
})

it('passes on bytes as they are, and calls only valid UTF-8 so', async () => {
  const binary = await run(String.raw`printf '\377\000\303\050'; printf 'h\303\251' >&2`)
  expect(Buffer.from(binary.stdout?.data ?? [])).toEqual(Buffer.from([0xff, 0, 0xc3, 0x28]))
  expect(binary.stdout).toMatchObject({ encoding: '', truncated: false, originalSize: 4 })
  expect(text(binary.stderr)).toBe('hé')
  expect(binary.stderr).toMatchObject({ encoding: 'utf-8' })
})

it('keeps the first mebibyte of each stream, says how much there was, and cuts no character in two', async () => {
  const done = await run('yes é | head -c 20000000; yes x | head -c 3000000 >&2')
  expect(done).toMatchObject({
    exitCode: 0,
    stdout: { truncated: true, originalSize: 20_000_000, encoding: 'utf-8' },
    stderr: { truncated: true, originalSize: 3_000_000 },
  })
  expect(done.stderr?.data).toHaveLength(maxOutputBytes)
  expect(done.stdout?.data?.length).toBeGreaterThan(maxOutputBytes - 4)
})

it('ends everything that it started when it is told to: children, their children, and what left the group', async () => {
  const mark = `svc-orphan-${process.pid}`
  const content = `
    echo begun
    env -i /bin/sh -c 'sleep 300; : ${mark}' &
    python3 -c 'import time; time.sleep(300) # ${mark}' &
    setsid sh -c 'python3 -c "import time; time.sleep(300) # ${mark}" & wait' &
    wait`
  const abort = new AbortController()
  const running = run(content, 'sh', [], abort.signal)
  await eventually(() => alive(mark)).toBeGreaterThan(3)
  abort.abort()
  const done = await running
  expect(text(done.stdout)).toBe('begun\n')
  await eventually(() => alive(mark)).toBe(0)
})

it('does not wait for a daemon that holds its output open, and lets it live', async () => {
  const done = await run('sleep 301.73 & echo $!')
  const daemon = Number(text(done.stdout))
  expect(done.exitCode).toBe(0)
  // Throws when there is no such process.
  process.kill(daemon, 'SIGKILL')
})

it('shows a script nothing of the settings of the agent', async () => {
  process.env['SVC_ENROLLMENT_KEY'] = 'secret'
  const done = await run('env')
  delete process.env['SVC_ENROLLMENT_KEY']
  expect(text(done.stdout)).toContain('PATH=')
  expect(text(done.stdout)).not.toContain('secret')
})
