import type { Fragment } from 'postgres'
import type { Db } from '../../kernel/tenancy.ts'
import type { Pipeline } from '../../pipeline.ts'

/**
 * Parts of a WITH: how far it is known what happened. `live` are the nodes that hold devices, `mark` how far each of them is known in
 * each shard, `listening` since when and until when nobody can have spoken unheard, for shards where every live node is heard of.
 */
export const clocks = (
  { sql }: Db,
  { watermarkStaleMs }: Pick<Pipeline, 'watermarkStaleMs'>,
): Fragment => sql`
    live as materialized (select node from gateway_nodes where lease_until > now()),
    mark as materialized (
      select w.shard, w.node, w.since, w.through from edge_watermarks w join live using (node)
      where w.through > now() - make_interval(secs => ${watermarkStaleMs / 1000}::float8)),
    listening as materialized (
      select s.shard, min(m.since) as since, min(m.through) as through
      from generate_series(0, 15) as s (shard) cross join live left join mark m using (shard, node)
      group by s.shard having count(m.through) = count(*))`
