import { realpathSync } from 'node:fs';

/*
 * The entry of the binary, in place of `bin/fanfare` and `main.ts`: the same environment, without a shell.
 */

/** What `bin/fanfare` sets, with the reasons there. It is read before any JavaScript runs. */
const ENVIRONMENT = {
  MIMALLOC_PURGE_DELAY: '2000',
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '2000',
  BUN_JSC_useWarmUpMarkedBlocks: '0',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '1024',
};

// Other commands are over before it could matter.
const isServer = process.argv[2] === 'serve';
if (isServer && Object.keys(ENVIRONMENT).some((name) => process.env[name] === undefined)) {
  try {
    // The same process goes on, with the same arguments. Units and images set the variables, and save this.
    const args = [process.argv0, ...process.argv.slice(2)];
    process.execve?.(process.execPath, args, { ...ENVIRONMENT, ...process.env });
  } catch {
    // Where this cannot be done, as in an emulator, the server only uses a little more of the core.
  }
}

const found = Bun.which('fanfare');
const isOnPath = found !== null && realpathSync(found) === process.execPath;
process.env['FANFARE_COMMAND'] ??= isOnPath ? 'fanfare' : process.execPath;

await import('./main.ts');
