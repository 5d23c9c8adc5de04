import { type FanfareServer, startServer } from '../node/server.ts';
import { StartFailed } from '../node/start-failed.ts';
import { firstFault } from '../node/uncaught.ts';
import { messageOf } from '../runtime/error-code.ts';
import type { Invocation } from './invocation.ts';
import type { ExitCode } from './output.ts';
import { readConfig } from './read-config.ts';
import { onReload, stopSignal } from './signals.ts';
import { welcome } from './welcome.ts';

/** `fanfare serve`: runs the server until a signal. */
export async function serve(invocation: Invocation): Promise<ExitCode> {
  const { output } = invocation;
  const config = readConfig(invocation);
  if (config === undefined) return 2;
  // Before anything starts: an early signal must not leave half a server behind.
  const signals = stopSignal();
  let reloadServer: (() => void) | undefined;
  onReload(() => reloadServer?.());
  const fault = firstFault();
  let server: FanfareServer;
  try {
    server = await Promise.race([
      startServer(config),
      fault.then((message) => Promise.reject(new StartFailed({ exitCode: 1, message }))),
    ]);
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    output.complain(`fanfare: ${error.message}`);
    return error.exitCode;
  }
  reloadServer = () => void reload(server, invocation);
  // Only to a person: what is printed elsewhere is often kept, and read by others.
  const logInToken = process.stdout.isTTY ? server.logInToken : undefined;
  const { publicUrl } = config.push;
  output.print(welcome(server, { publicUrl, hasDashboard: config.dashboard.enabled, logInToken }));

  const reason = await Promise.race([
    signals.first.then((signal) => ({ signal })),
    server.died.then((why) => ({ why })),
    fault.then((why) => ({ why })),
  ]);
  reloadServer = undefined;
  if ('why' in reason) server.log.error('The server stops: a part of it has died', reason);
  else {
    const { stopDelaySeconds, drainSeconds } = config;
    server.log.info('Stopping', { signal: reason.signal, stopDelaySeconds, drainSeconds });
    server.announceStop();
    const delay = Bun.sleep(stopDelaySeconds * 1000);
    await Promise.race([delay, server.died, fault, signals.second]);
  }

  await Promise.race([server.stop(), signals.second]);
  return 'why' in reason ? 1 : 0;
}

/** Reads the configuration again and takes over its apps, instances and certificate. Keeps the old ones on error. */
async function reload(server: FanfareServer, { given, output }: Invocation): Promise<void> {
  // Not to standard error: writing to a stopped terminal would block the server.
  const complain = (text: string) => server.log.error(text.trim());
  const config = readConfig({ given, output: { ...output, complain } });
  if (config === undefined) {
    server.log.error('The configuration was not reloaded: it has problems, see above');
    return;
  }
  try {
    await server.reload(config);
    server.log.info('Reloaded apps, instances and certificate; other settings need a restart');
  } catch (error) {
    const why = messageOf(error);
    server.log.error('The configuration was not reloaded', { why });
  }
}
