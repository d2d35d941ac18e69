/** What a body may say of a `T`. */
export type Changes<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** `before` with what a body changes of it; what it leaves out stays. */
export const changed = <T extends object>(before: T, changes: Changes<T>): T => ({
  ...before,
  ...Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
})

/** For `.refine(...)` of a body that changes something: what is wrong with it otherwise is told alone. */
export const notEmpty = [
  (changes: object) => Object.keys(changes).length > 0,
  {
    message: 'must say what to change',
    when: ({ issues }: { issues: readonly unknown[] }) => issues.length === 0,
  },
] as const
