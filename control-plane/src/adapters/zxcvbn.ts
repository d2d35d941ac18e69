/** Loaded with the first estimate, by a dynamic import of this file: of the libraries themselves a bundle would see no names. */
export { ZxcvbnFactory } from '@zxcvbn-ts/core'
export { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
export { dictionary as english, translations } from '@zxcvbn-ts/language-en'
