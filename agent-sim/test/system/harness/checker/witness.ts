import type postgres from 'postgres'
import type { StateOf } from './evidence.ts'

/**
 * Has the database itself note each state of each command, in the transaction that makes it so: a row that was changed back would
 * look as if nothing had happened. The product knows nothing of it. Noted at the commit: a life of the database is told of by the
 * transaction that has commands asked about again in it.
 */
export async function installWitness(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema witness;
    create table witness.states (
      n bigint primary key generated always as identity, life bigint not null, command_id uuid not null, status text not null);
    create function witness.note() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
    begin
      insert into witness.states (life, command_id, status)
        select count(*), new.id, new.status from svc.database_lives;
      return null;
    end $$;
    create constraint trigger witness_made after insert on svc.commands
      deferrable initially deferred for each row execute function witness.note();
    create constraint trigger witness_moved after update on svc.commands
      deferrable initially deferred for each row
      when (old.status is distinct from new.status) execute function witness.note();`)
}

/** What it noted, of each command in order. */
export const statesIn = (sql: postgres.Sql): Promise<StateOf[]> => sql<StateOf[]>`
  select life, command_id, status from witness.states order by n`
