import { download, list, route } from '../../../kernel/route.ts'
import { listReleases } from './queries.ts'
import { AgentVersion, LatestVersion, Synced, SyncQuery, Target, Version } from './schema.ts'
import { downloadOf, fetchRelease, latestVersion, sync } from './service.ts'

export default [
  list('GET /agent-versions', {
    summary: 'Registered releases of agents with their files, newest first; the same for every tenant',
    can: 'devices:read',
    item: AgentVersion,
    newestBy: 'createdAt',
    run: ({ db }, page) => listReleases(db, page),
  }),
  route('GET /agent-versions/latest', {
    summary: 'The latest release for one target, with what proves it',
    can: 'devices:read',
    query: Target,
    returns: LatestVersion,
    run: latestVersion,
  }),
  download('GET /agent-versions/:version/download', {
    summary: 'The file of a release for one target',
    can: 'devices:read',
    params: { version: Version },
    query: Target,
    run: ({ db, ports, params, query }) => downloadOf(db, ports, query, params.version),
  }),
  route('POST /agent-versions/sync-github', {
    summary:
      'Register a release from the release host, once all of it is proven; agents take it with their next heartbeats',
    can: 'platform',
    audit: 'agent_version.sync',
    query: SyncQuery,
    returns: Synced,
    prepare: fetchRelease,
    run: sync,
  }),
]
