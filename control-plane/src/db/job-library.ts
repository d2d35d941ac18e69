/** What is slow to load, in one place: to be imported when it is needed, and never otherwise. A bundle keeps it apart, names and all. */
export { Logger, runMigrations, runTaskList } from 'graphile-worker'
export { Pool } from 'pg'
