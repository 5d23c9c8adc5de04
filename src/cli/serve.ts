import { type FanfareServer, startServer } from '../node/server.ts';
import { StartFailed } from '../node/start-failed.ts';
import type { Arguments } from './options.ts';
import type { ExitCode, Output } from './output.ts';
import { readConfig } from './read-config.ts';
import { onReload, stopSignal } from './signals.ts';
import { firstFault } from './uncaught.ts';
import { welcome } from './welcome.ts';

/** `fanfare serve`: runs the server until it is told to stop. */
export async function serve(given: Arguments, output: Output): Promise<ExitCode> {
  const config = readConfig(given.value('config'), output);
  if (config === undefined) return 2;
  // Listened to before anything starts: a signal that comes early must not leave half a server behind.
  const signals = stopSignal();
  let whenAsked: (() => void) | undefined;
  onReload(() => whenAsked?.());
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
  whenAsked = () => reload(server, given, output);
  output.print(welcome(server, config.push.publicUrl));

  const reason = await Promise.race([
    signals.first.then((signal) => ({ signal })),
    server.died.then((why) => ({ why })),
    fault.then((why) => ({ why })),
  ]);
  if ('why' in reason) server.log.error('The server stops: a part of it has died', reason);
  else server.log.info('Stopping', { signal: reason.signal, drainSeconds: config.drainSeconds });

  whenAsked = undefined;
  await Promise.race([server.stop(), signals.second]);
  return 'why' in reason ? 1 : 0;
}

/** SIGHUP: reads the configuration again and takes over the apps, the instances and the certificate; or keeps what there is. */
function reload(server: FanfareServer, given: Arguments, output: Output): void {
  // Not to standard error, where a terminal that was stopped would stop the server.
  const complain = (text: string) => server.log.error(text.trim());
  const config = readConfig(given.value('config'), { ...output, complain });
  if (config === undefined) {
    server.log.error('The configuration was not reloaded: it has problems, see above');
    return;
  }
  try {
    server.reload(config);
    server.log.info('Reloaded apps, instances and certificate; other settings take a restart');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    server.log.error('The configuration was not reloaded', { why });
  }
}
