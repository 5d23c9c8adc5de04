/**
 * Settles with the first error that nobody caught, with where it came from. Whoever waits for it must end the
 * process: without this Bun would print the error and might go on with half a server.
 */
export function firstFault(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const fault = (error: unknown) =>
    resolve(
      `A fault inside: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);
  return promise;
}
