import { z } from 'zod'
import { Component, Version } from '../../agent-versions/schema.ts'

export const DownloadQuery = z.strictObject({
  version: Version.optional().describe('The latest for this target when left out; else as `1.4.0`'),
  component: Component.default('agent').describe('`agent` when left out'),
})
