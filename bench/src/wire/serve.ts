/** Calls to a child process, over the channel that Node gives it: one function of the child's per name, arguments and answers as JSON. This is the child's side. */

type Handlers = Record<string, (argument: never) => unknown>

export interface Call {
  id: number
  name: string
  argument: unknown
}
export interface Answer {
  id: number
  value?: unknown
  error?: string
}

/** The child's side. It ends with its parent, whatever became of that. */
export function serveCalls(handlers: Handlers): void {
  process.on('disconnect', () => process.exit(1))
  process.on('message', ({ id, name, argument }: Call) => {
    const answer = (rest: Omit<Answer, 'id'>) => void process.send?.({ id, ...rest })
    const run = async () => handlers[name]?.(argument as never)
    void run().then(
      (value) => answer({ value }),
      (error: Error) => answer({ error: error.message }),
    )
  })
}
