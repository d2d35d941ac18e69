/** `before` with what a body changes of it; what it leaves out stays. */
export const changed = <T extends object>(
  before: T,
  changes: { readonly [K in keyof T]?: T[K] | undefined },
): T => ({
  ...before,
  ...Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
})
