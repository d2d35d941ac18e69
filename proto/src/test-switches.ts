/** What a test changes of a program that it starts. */
export interface TestSwitches {
  /** guards that it takes away, to see itself fail */
  without: ReadonlySet<string>
  /** bounds that it moves, to come to them */
  moved: Readonly<Record<string, number>>
}

/**
 * `SVC_TEST_WITHOUT=one,other` and `SVC_TEST_LIMITS=helloBurst=3,exitWithinMs=500`, of a program that says `NODE_ENV=test`; of any other
 * they mean nothing.
 *
 * @param env the program's environment
 */
export function testSwitches(env: Readonly<Record<string, string | undefined>>): TestSwitches {
  const listed = (name: string) => (env['NODE_ENV'] === 'test' ? (env[name]?.split(',') ?? []) : [])
  const moved = listed('SVC_TEST_LIMITS').map((one): [string, number] => {
    const [name = '', value = ''] = one.split('=')
    return [name, Number(value)]
  })
  return { without: new Set(listed('SVC_TEST_WITHOUT')), moved: Object.fromEntries(moved) }
}
