import { Expected } from './options.ts'

/** What the work resolves with. Throws in one line, made by `late`, when it takes longer than `ms`; the work goes on. */
export async function within<T>(work: Promise<T>, ms: number, late: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Expected(late())), ms)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
