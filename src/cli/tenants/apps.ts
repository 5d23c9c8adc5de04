import { printable } from '../../runtime/printable.ts';
import { openStoredApps, type StoredAppsAdmin } from '../../tenants/stored-apps.ts';
import type { Arguments } from '../options.ts';
import { type ExitCode, type Output, UsageError } from '../output.ts';
import { readConfig } from '../read-config.ts';
import { shownSettings } from '../shown-settings.ts';

type StoredApp = NonNullable<Awaited<ReturnType<StoredAppsAdmin['get']>>>;

type Action = (store: StoredAppsAdmin, given: Arguments, output: Output) => Promise<ExitCode>;

/** `fanfare apps …`: manages the apps in the store; a running server sees each change within a second. */
export function appsCommand(action: Action) {
  return async (given: Arguments, output: Output): Promise<ExitCode> => {
    const config = readConfig(given.value('config'), output);
    if (config === undefined) return 2;
    await using store = await openStoredApps(config.store.url);
    return await action(store, given, output);
  };
}

export const listApps: Action = async (store, given, output) => {
  const apps = await store.list();
  if (given.has('json')) {
    output.print(JSON.stringify(apps.map((app) => shown(app, false))));
    return 0;
  }
  if (apps.length === 0) output.print('The store has no app. Make one: fanfare apps create');
  for (const app of apps) {
    const state = app.enabled ? 'enabled ' : 'disabled';
    const keys = app.keys.map(({ key }) => key).join(' ');
    output.print(printable(`${app.id}  ${state}  ${keys}  ${app.name}`));
  }
  return 0;
};

export const showApp: Action = async (store, given, output) => {
  const app = await store.get(idOf(given));
  if (app === undefined) return noSuchApp(given, output);
  printApp(app, given.has('secret'), given, output);
  return 0;
};

export const createApp: Action = async (store, given, output) => {
  if (given.words.length > 0) {
    throw new UsageError(`unexpected "${given.words[0]}"; an app's name goes after --name`);
  }
  const settings: Record<string, boolean> = {};
  if (given.has('client-events')) settings['clientEvents'] = true;
  if (given.has('subscription-counts')) settings['subscriptionCounts'] = true;
  printApp(await store.create(given.value('name') ?? '', settings), true, given, output);
  return 0;
};

export const rotateApp: Action = async (store, given, output) => {
  const id = idOf(given);
  const app = await store.get(id);
  if (app === undefined) return noSuchApp(given, output);
  const old = given.value('remove');
  if (old === undefined) {
    if (!(await store.addKey(id))) return noSuchApp(given, output);
  } else {
    const result = await store.removeKey(id, old);
    if (result === 'last') {
      output.complain(
        `fanfare: ${old} is the only key of app ${id}; add one first, without --remove`,
      );
      return 1;
    }
    if (result === 'unknown') {
      output.complain(`fanfare: app ${id} has no key ${old}`);
      return 1;
    }
  }
  const now = await store.get(id);
  if (now === undefined) return noSuchApp(given, output);
  printApp(now, old === undefined, given, output);
  if (old === undefined && !given.has('json')) {
    output.print(
      `Both keys are valid. When nobody uses the old one any more: fanfare apps rotate ${id} --remove ${app.keys[0]?.key ?? 'KEY'}`,
    );
  }
  return 0;
};

export const disableApp: Action = (store, given, output) => setEnabled(store, given, output, false);

export const enableApp: Action = (store, given, output) => setEnabled(store, given, output, true);

export const deleteApp: Action = async (store, given, output) => {
  const id = idOf(given);
  if (!(await store.delete(id))) return noSuchApp(given, output);
  output.print(given.has('json') ? JSON.stringify({ id, deleted: true }) : `App ${id} is deleted.`);
  return 0;
};

async function setEnabled(
  store: StoredAppsAdmin,
  given: Arguments,
  output: Output,
  enabled: boolean,
): Promise<ExitCode> {
  const id = idOf(given);
  if (!(await store.setEnabled(id, enabled))) return noSuchApp(given, output);
  output.print(
    given.has('json')
      ? JSON.stringify({ id, enabled })
      : `App ${id} is ${enabled ? 'enabled' : 'disabled'}.`,
  );
  return 0;
}

function idOf({ words }: Arguments): string {
  const [id, more] = words;
  if (id === undefined)
    throw new UsageError('which app? Its id is missing; see: fanfare apps list');
  if (more !== undefined) throw new UsageError(`unexpected "${more}"`);
  return id;
}

function noSuchApp(given: Arguments, output: Output): ExitCode {
  output.complain(
    `fanfare: the store has no app ${idOf(given)}; see: fanfare apps list. Apps of the configuration are changed there.`,
  );
  return 1;
}

/** Secrets only where they were asked for. */
function shown(app: StoredApp, withSecrets: boolean): object {
  if (withSecrets) return app;
  const keys = app.keys.map(({ key }) => ({ key }));
  return { ...app, keys, settings: shownSettings(app.settings) };
}

function printApp(app: StoredApp, withSecrets: boolean, given: Arguments, output: Output): void {
  if (given.has('json')) {
    output.print(JSON.stringify(shown(app, withSecrets)));
    return;
  }
  const name = app.name === '' ? '' : ` (${app.name})`;
  output.print(printable(`App ${app.id}${name}${app.enabled ? '' : ', disabled'}`));
  for (const { key, secret } of app.keys) {
    output.print(`  key     ${key}`);
    output.print(`  secret  ${withSecrets ? secret : '(shown with --secret)'}`);
  }
  const settings = withSecrets ? app.settings : shownSettings(app.settings);
  for (const [name, value] of Object.entries(settings)) {
    output.print(`  ${name}  ${JSON.stringify(value)}`);
  }
}
