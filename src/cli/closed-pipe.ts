import { errorCode } from '../runtime/error-code.ts';

/**
 * Lets the reader of the output go, as `head` does: a command then ends quietly with what it has printed, and a server
 * continues without its output.
 */
export function outliveReaders({ isServer }: { readonly isServer: boolean }): void {
  process.stdout.on('error', (error) => {
    if (errorCode(error) !== 'EPIPE') throw error;
    if (!isServer) process.exit(process.exitCode);
  });
  process.stderr.on('error', (error) => {
    if (errorCode(error) !== 'EPIPE') throw error;
  });
}
