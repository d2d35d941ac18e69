import { download } from '../../../../kernel/route.ts'
import { Architecture, Platform, Target } from '../../agent-versions/schema.ts'
import { downloadOf } from '../../agent-versions/service.ts'
import { DownloadQuery } from './schema.ts'

export default [
  download('GET /agents/download/:os/:arch', {
    summary: 'The agent for a system and architecture: where machines without any credential begin',
    can: 'public',
    limit: 'agent-download',
    params: { os: Platform, arch: Architecture },
    query: DownloadQuery,
    run: ({ db, ports, params, query: { version, component } }) =>
      downloadOf(db, ports, Target.parse({ platform: params.os, arch: params.arch, component }), version),
  }),
]
