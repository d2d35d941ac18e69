/** The peer without any framework: `node:http` and postgres.js, the same statements. Environment and output as those of `fastify.ts`. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deviceDetail, openDatabase } from './reads.ts'

const { DATABASE_URL = '', CONNECTIONS = '' } = process.env
const sql = openDatabase(DATABASE_URL, Number(CONNECTIONS))
const path = /^\/api\/v1\/devices\/([0-9a-f-]{36})$/

const server = createServer((request, response) => {
  const id = path.exec(request.url ?? '')?.[1]
  const found = id === undefined ? Promise.resolve(undefined) : deviceDetail(sql, id)
  found.then(
    (device) => {
      const text = JSON.stringify(device ?? { error: 'not found' })
      response
        .writeHead(device ? 200 : 404, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': Buffer.byteLength(text),
        })
        .end(text)
    },
    (error: unknown) => {
      console.error(error)
      response.writeHead(500).end()
    },
  )
})

process.on('SIGTERM', () => process.exit(0))
server.listen(0, '127.0.0.1', () =>
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
