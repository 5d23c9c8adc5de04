import { realpathSync } from 'node:fs';

/*
 * The entry point of the binary. It replaces `bin/fanfare` and `main.ts`: it sets the same environment, without a
 * shell.
 */

/**
 * The variables that `bin/fanfare` sets; the reasons are there. The runtime reads them before any JavaScript runs.
 */
const ENVIRONMENT = {
  MIMALLOC_PURGE_DELAY: '2000',
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '2000',
  BUN_JSC_useWarmUpMarkedBlocks: '0',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '1024',
};

// Other commands finish before it could matter.
const isServer = process.argv[2] === 'serve';
if (isServer && Object.keys(ENVIRONMENT).some((name) => process.env[name] === undefined)) {
  try {
    // Replaces the process image with the same arguments. Units and container images set the variables and avoid this
    // step.
    const args = [process.argv0, ...process.argv.slice(2)];
    process.execve?.(process.execPath, args, { ...ENVIRONMENT, ...process.env });
  } catch {
    // Where this is impossible, as in an emulator, the server only uses slightly more CPU time.
  }
}

const found = Bun.which('fanfare');
const isOnPath = found !== null && realpathSync(found) === process.execPath;
process.env['FANFARE_COMMAND'] ??= isOnPath ? 'fanfare' : process.execPath;

await import('./main.ts');
