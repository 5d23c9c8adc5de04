/** The push service of Safari. */
const APPLE = /\.push\.apple\.com$/;

/** Whether a push service is that of Apple. */
export function isApple(hostname: string): boolean {
  return APPLE.test(hostname);
}
