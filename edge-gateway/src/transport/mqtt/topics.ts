/** Where a device publishes, and nowhere else. */
export const upTopic = (deviceId: string): string => `d/${deviceId}/up`

/** Where it is spoken to, and nobody else is. */
export const downTopic = (deviceId: string): string => `d/${deviceId}/down`
