/** One line for people on a stream, replaced by the next where that is a terminal. */
export interface Progress {
  show(line: string): void
  /** The line may go: something else is printed now. */
  clear(): void
}

export function progressOn(stream: NodeJS.WriteStream): Progress {
  const began = Date.now()
  const stamped = (line: string) => `${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${line}`
  if (!stream.isTTY)
    return { show: (line) => void stream.write(`${stamped(line)}\n`), clear: () => undefined }
  const wipe = '\r\u001b[K'
  return {
    show: (line) => void stream.write(`${wipe}${stamped(line).slice(0, stream.columns - 1)}`),
    clear: () => void stream.write(wipe),
  }
}
