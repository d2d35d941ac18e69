/** Logs without end into a pipe that nobody reads, and says over IPC how its event loop fares meanwhile. */
import { logCounts } from '../../src/log/counts.ts'
import { openLog } from '../../src/log/open.ts'
import { securityOf } from '../../src/log/security.ts'

const { log } = openLog({ service: 'tool', level: 'debug' })
const security = securityOf(log)
const text = 'x'.repeat(200)
let turns = 0
let longest = 0
let before = performance.now()
let talking = true

const turn = () => {
  longest = Math.max(longest, performance.now() - before)
  before = performance.now()
  turns++
  for (let i = 0; talking && i < 200; i++) log.debug({ text, i }, 'talk')
  if (talking && turns % 10 === 0) security('authorization.denied', 'denied', { turn: turns })
  setTimeout(turn, 1)
}
turn()

process.on('message', (said) => {
  if (said === 'quiet') talking = false
  if (said === 'last') {
    log.fatal('last words')
    process.exit(3)
  }
  process.send?.({ turns, longest, rss: process.memoryUsage.rss(), lost: logCounts.lost.stalled })
  longest = 0
})
