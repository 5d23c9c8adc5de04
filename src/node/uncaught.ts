import { stackOf } from '../runtime/error-code.ts';

/**
 * Settles with the first error that nothing caught. The caller must then end the process: by default, Bun would print
 * the error and might continue with half a server.
 */
export function firstFault(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const fault = (error: unknown) => resolve(`Internal error: ${stackOf(error)}`);
  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);
  return promise;
}
