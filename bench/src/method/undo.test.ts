import { expect, it } from 'vitest'
import { Undo } from './undo.ts'

it('undoes the last first, all of it whatever fails, and once', async () => {
  const undo = new Undo()
  const done: string[] = []
  undo.add(() => void done.push('first'))
  undo.add(() => Promise.reject(new Error('stuck')))
  undo.add(() => void done.push('last'))
  const [failures, again] = await Promise.all([undo.run(), undo.run()])
  expect(done).toEqual(['last', 'first'])
  expect([failures.map(({ message }) => message), again]).toEqual([['stuck'], failures])
})

it('undoes what is started while it undoes', async () => {
  const undo = new Undo()
  const done: string[] = []
  undo.add(() => undo.add(() => void done.push('late')))
  await undo.run()
  expect(done).toEqual(['late'])
})
