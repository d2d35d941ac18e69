/**
 * The peer: Fastify as it comes and postgres.js, with no authentication, no scope, no validation, no schema for what goes out, no headers but
 * Fastify's own. A program of its own: DATABASE_URL, CONNECTIONS and USER_ID in its environment; it prints the port that it listens on.
 */
import fastify from 'fastify'
import { deviceDetail, openDatabase } from './reads.ts'
import { createCommand, type NewCommand } from './writes.ts'

const { DATABASE_URL = '', CONNECTIONS = '', USER_ID = '' } = process.env
const sql = openDatabase(DATABASE_URL, Number(CONNECTIONS))
const app = fastify()

app.get<{ Params: { id: string } }>('/api/v1/devices/:id', async (request, reply) => {
  const device = await deviceDetail(sql, request.params.id)
  return device ?? reply.code(404).send({ error: 'not found' })
})
app.post<{ Params: { id: string }; Body: NewCommand }>(
  '/api/v1/devices/:id/commands',
  async (request, reply) => {
    const command = await createCommand(sql, USER_ID, request.params.id, request.body)
    return command ? reply.code(201).send(command) : reply.code(404).send({ error: 'not found' })
  },
)

process.on('SIGTERM', () => process.exit(0))
console.log(`listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
