import { settingsForRestart } from '../../config/changed-settings.ts';
import type { ConfigProblem } from '../../config/file/problems.ts';
import type { UsableConfig } from '../../config/load.ts';
import { hasOwnStore } from '../../config/settings/own-store.ts';
import { type FanfareServer, startServer } from '../../node/server.ts';
import { StartFailed } from '../../node/start-failed.ts';
import { firstFault } from '../../node/uncaught.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { pause } from '../../runtime/time/pause.ts';
import type { Command } from '../command.ts';
import type { Invocation } from '../invocation.ts';
import { CONFIG_OPTION, JSON_OPTION, noOperand } from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { readWholeConfig } from '../read-config.ts';
import { type ServiceManager, serviceManager } from './service-manager.ts';
import { onReload, stopSignal } from './signals.ts';
import { started } from './started.ts';
import { welcome } from './welcome.ts';

export const SERVE: Command = {
  name: 'serve',
  help: 'Run the server until SIGTERM or SIGINT.',
  example: 'fanfare serve --config /etc/fanfare/fanfare.yaml',
  options: [
    CONFIG_OPTION,
    {
      ...JSON_OPTION,
      help: 'When the server listens, print one line of JSON: its addresses, its first app and its first instance.',
    },
    { name: 'secret', help: 'With --json: print their secrets too.' },
  ],
  run: serve,
};

/** `fanfare serve`: runs the server until a signal. */
async function serve(invocation: Invocation): Promise<ExitCode> {
  const { given, output } = invocation;
  noOperand(given);
  if (given.has('secret') && !given.has('json')) throw new UsageError('--secret needs --json');
  const loaded = readWholeConfig(invocation);
  if (loaded === undefined) return 2;
  const { config, tenants } = loaded;
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
  warnAbout(loaded.warnings, server.log);
  // systemd lets other services start, and sends signals, only from here on.
  const manager = await serviceManager(process.env['NOTIFY_SOCKET'], (why) => server.log.warn(why));
  reloadServer = () => void reload({ server, manager, invocation, atStart: loaded });
  if (given.has('json')) {
    output.print(JSON.stringify(started(server, { showsSecrets: given.has('secret') })));
  } else {
    // Only for a person: output that goes elsewhere is often stored, and read by others.
    const isSeen = Boolean(process.stdout.isTTY);
    const logInToken = isSeen ? server.logInToken : undefined;
    output.print(
      welcome(server, {
        publicUrl: config.push.publicUrl,
        hasDashboard: config.dashboard.enabled,
        isStoreOwn: hasOwnStore(config),
        tenants,
        configFile: given.value('config'),
        logInToken,
        isSeen,
      }),
    );
  }
  manager.notify('ready');

  const reason = await Promise.race([
    signals.first.then((signal) => ({ signal })),
    server.died.then((why) => ({ why })),
    fault.then((why) => ({ why })),
  ]);
  reloadServer = undefined;
  manager.notify('stopping');
  if ('why' in reason) server.log.error('The server stops: a part of it has died', reason);
  else {
    const { stopDelaySeconds, drainSeconds } = config;
    server.log.info('Stopping', { signal: reason.signal, stopDelaySeconds, drainSeconds });
    server.announceStop();
    const delay = pause(monotonicTimers, stopDelaySeconds * 1000);
    await Promise.race([delay, server.died, fault, signals.second]);
  }

  await Promise.race([server.stop(), signals.second]);
  return 'why' in reason ? 1 : 0;
}

function warnAbout(warnings: readonly ConfigProblem[], log: Log): void {
  for (const { path, message } of warnings)
    log.warn('A setting is probably wrong', { setting: path, why: message });
}

interface Reload {
  readonly server: FanfareServer;
  readonly manager: ServiceManager;
  readonly invocation: Invocation;
  readonly atStart: UsableConfig;
}

async function reload({ manager, ...parts }: Reload): Promise<void> {
  manager.notify('reloading');
  await reloadConfig(parts);
  // Also after a failure: the server continues with the old settings.
  manager.notify('ready');
}

/** Reloads the configuration and applies its apps, instances and certificate. Keeps the old ones on error. */
async function reloadConfig({
  server,
  invocation: { given, output },
  atStart,
}: Omit<Reload, 'manager'>): Promise<void> {
  // Not to standard error: writing to a stopped terminal would block the server.
  const complain = (text: string) => server.log.error(text.trim());
  const loaded = readWholeConfig({ given, output: { ...output, complain } });
  if (loaded === undefined) {
    server.log.error('The configuration was not reloaded: it has problems, see above');
    return;
  }
  if (loaded.isFileEmpty && !atStart.isFileEmpty) {
    // An editor or a copy that was interrupted leaves such a file. All apps of the configuration would be gone.
    const why = loaded.source === undefined ? 'its file is gone' : `${loaded.source} is empty`;
    server.log.error('The configuration was not reloaded', { why });
    return;
  }
  try {
    warnAbout(loaded.warnings, server.log);
    await server.reload(loaded.config);
    server.log.info('Reloaded apps, instances and certificate');
    const settings = settingsForRestart(atStart.config, loaded.config);
    if (settings.length > 0) {
      server.log.warn('Changed settings need a restart', { settings: settings.join(', ') });
    }
  } catch (error) {
    const why = messageOf(error);
    server.log.error('The configuration was not reloaded', { why });
  }
}
