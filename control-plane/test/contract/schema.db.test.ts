import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { schemaFile, schemaGolden } from '../../src/goldens.ts'
import { databaseForFile } from '../harness/database.ts'

const root = resolve(import.meta.dirname, '../../..')
const database = await databaseForFile()

test('schema.sql is what the migrations make (npm run golden)', async () => {
  expect(readFileSync(join(root, schemaFile), 'utf8')).toBe(await schemaGolden(database.url))
})
