// Loaded before a program: on SIGUSR2 its event loop stands still for six seconds, as with work that should not be done there.
const standStill = () => {
  const until = performance.now() + 6_000
  while (performance.now() < until);
  console.info('stood still as it was told to')
}
process.on('SIGUSR2', standStill)
