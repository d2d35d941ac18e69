import type { Row } from './verdict.ts'

interface Stage<Options> {
  play(options: Options): Promise<Row[]>
  close(): Promise<void>
}

/** Opens a proof's stage, plays on it once and closes it, whatever came of the play. */
export async function playOnce<Options extends { say: (line: string) => void }>(
  stages: { open(options: Options): Promise<Stage<Options>> },
  options: Options,
): Promise<Row[]> {
  const stage = await stages.open(options)
  try {
    return await stage.play(options)
  } finally {
    options.say('ending what was started')
    await stage.close()
  }
}
