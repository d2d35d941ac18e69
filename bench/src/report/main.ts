/** `npm run bench -- report`: writes docs/performance.md. */
import { writeFileSync } from 'node:fs'
import { pageOf } from './page.ts'
import { pagePath, resultsFolder } from './places.ts'
import { readResults } from './read.ts'

const results = readResults(resultsFolder)
writeFileSync(pagePath, pageOf(results))
console.log(`docs/performance.md: made of ${results.length} ${results.length === 1 ? 'result' : 'results'}`)
