import postgres from 'postgres'

/**
 * What a failed batch means:
 * - `again`: two transactions were in each other's way; the same batch at once
 * - `poison`: something in the batch itself cannot be stored or handled; find it and leave it out
 * - `later`: the world is not well (database away, disk full, schema behind); nothing may be skipped for that
 */
export type Failure = 'again' | 'poison' | 'later'

/** SQLSTATE 40001 serialization_failure, 40P01 deadlock_detected (PostgreSQL documentation, appendix A). */
const again = ['40001', '40P01']
/** Classes 22 data exception, 23 constraint violation, 54 program limit exceeded: the values' own fault. */
const poison = /^(22|23|54)/
/** What a defect in handling looks like: thrown by the language, about a value that nobody foresaw. */
const defects = [TypeError, RangeError, SyntaxError]

export function failureOf(error: unknown): Failure {
  if (error instanceof postgres.PostgresError) {
    if (again.includes(error.code)) return 'again'
    return poison.test(error.code) ? 'poison' : 'later'
  }
  return defects.some((kind) => error instanceof kind) ? 'poison' : 'later'
}
