/** How our commands say that they were not understood: in one line. */

/** Node's word on the switches, without its lesson on dashes. @param {unknown} error of `parseArgs` */
export const misread = (error) => `${error.message.split(/\.?\n|\. /)[0]} (--help lists the switches)`

/**
 * @param {string} what bench, proof, command
 * @param {string} given
 * @param {readonly string[]} known
 */
export const unknown = (what, given, known) => `There is no ${what} ${given}: ${known.join(', ')}`
