// Loaded before a program: its clock is wrong by CLOCK_AHEAD_MS, and by an hour more, then less, then right again with each SIGUSR2.
// What counts time that passes is left alone, as when the clock of a machine is set.
const { Date: RealDate } = globalThis
const hourMs = 3_600_000
const jumps = [hourMs, -hourMs, 0]
const realNow = RealDate.now.bind(RealDate)
const aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? 0)
let jumpMs = 0
RealDate.now = () => realNow() + aheadMs + jumpMs
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now()] : args, newTarget),
  apply: () => new RealDate(RealDate.now()).toString(),
})
process.on('SIGUSR2', () => {
  jumpMs = jumps.shift() ?? 0
  jumps.push(jumpMs)
})
