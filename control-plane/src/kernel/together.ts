/**
 * What is asked of a transaction at once travels together. Resolves with all answers once all are there; rejects, also only then, with
 * the error of the first of them that failed, as they stand: nothing of it goes on behind the rollback, and what stands first
 * decides.
 */
export async function together<T extends readonly unknown[]>(
  ...asked: { [K in keyof T]: Promise<T[K]> }
): Promise<T> {
  for (const settled of await Promise.allSettled(asked))
    if (settled.status === 'rejected') throw settled.reason
  return Promise.all(asked) as unknown as Promise<T>
}
