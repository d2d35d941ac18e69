// Whether the program of this container should be sent anything: `/health/ready` of it, exit code 0 or 1. Nothing but Node is needed.
import { request as plain } from 'node:http'
import { request as secure } from 'node:https'

const { GATEWAY_PORT, PORT = GATEWAY_PORT, TLS_CERT_FILE } = process.env
const tls = Boolean(GATEWAY_PORT && TLS_CERT_FILE)
const request = tls ? secure : plain
// To ourselves: whose certificate it is, is no question.
const options = {
  host: '127.0.0.1',
  port: PORT,
  path: '/health/ready',
  timeout: 4_000,
  rejectUnauthorized: false,
}

request(options, (response) => {
  response.resume()
  process.exitCode = response.statusCode === 200 ? 0 : 1
})
  .on('timeout', () => process.exit(1))
  .on('error', ({ message }) => {
    console.error(message)
    process.exit(1)
  })
  .end()
