import { MemoryBus } from '../src/bus/index.ts'
import { busContract } from './bus-contract.ts'

busContract('the bus in memory', async () => new MemoryBus())
