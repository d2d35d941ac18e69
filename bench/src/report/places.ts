import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

export const resultsFolder = join(root, 'bench/results')
export const pagePath = join(root, 'docs/performance.md')
