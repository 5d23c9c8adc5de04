import { hasOwnStore } from '../../config/settings/own-store.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { AppStore, type StoredApp } from '../../stores/tenants/app-store.ts';
import { AppAdmin } from '../../tenants/manage-apps.ts';
import { printResult } from '../invocation.ts';
import type { ExitCode } from '../output.ts';
import { shownSettings } from '../shown-settings.ts';
import { awayWords, keyUsesOf, type ShownKeyUses, usedWords } from './key-uses.ts';
import { printConfigured, sayLastUse } from './shown-keys.ts';
import {
  noTenantId,
  printTenants,
  type TenantCall,
  type TenantCommands,
  tenantId,
} from './tenant-command.ts';

type Call = TenantCall<AppAdmin>;

export const appCommands: TenantCommands<AppAdmin> = {
  noun: 'app',
  adminOf: (database, config) =>
    new AppAdmin({
      store: new AppStore(database),
      // A stored app that the configuration replaces is managed here, for example to delete it.
      configured: () => [],
      changed: async () => undefined,
      isStoreOwn: hasOwnStore(config),
    }),
};

export async function listApps(call: Call): Promise<ExitCode> {
  return printTenants(call, await call.admin.storedTenants(), {
    noun: 'app',
    json: (app) => shownApp(app, 'none'),
    line: ({ id, enabled, keys, name }) =>
      printable(
        `${id}  ${enabled ? 'enabled ' : 'disabled'}  ${keys.map(({ key }) => key).join(' ')}  ${name}`,
      ),
  });
}

export async function showApp(call: Call): Promise<ExitCode> {
  const id = tenantId(call, 'app');
  const uses = await keyUsesOf(call, 'app', id);
  const printed = await printConfigured(call, uses, { noun: 'app', id });
  if (printed !== undefined) return printed;
  const app = await call.admin.stored(id);
  return printApp(call, app, { secrets: call.given.has('secret') ? 'all' : 'none', uses });
}

export async function createApp(call: Call): Promise<ExitCode> {
  const { given, admin } = call;
  noTenantId(call, 'app');
  const settings: Record<string, boolean> = {};
  if (given.has('client-events')) settings['clientEvents'] = true;
  if (given.has('subscription-counts')) settings['subscriptionCounts'] = true;
  const id = await admin.create({ name: given.value('name'), settings });
  return printApp(call, await admin.stored(id), { secrets: 'all' });
}

export async function rotateApp(call: Call): Promise<ExitCode> {
  const { given, admin } = call;
  const id = tenantId(call, 'app');
  const removed = given.value('remove');
  if (removed !== undefined) {
    const names = (await admin.stored(id)).keys.map(({ key }) => key);
    await sayLastUse(call, { noun: 'app', id }, { names, place: names.indexOf(removed) });
    await admin.removeKey(id, removed);
    return printApp(call, await admin.stored(id), { secrets: 'none' });
  }
  const added = await admin.addKey(id);
  const app = await admin.stored(id);
  const oldest = app.keys[0]?.key ?? 'KEY';
  return printApp(call, app, {
    secrets: added,
    hint: `All keys are valid. When the old one is no longer used (see: fanfare apps show ${id}): fanfare apps rotate ${id} --remove ${oldest}`,
  });
}

export const disableApp = (call: Call): Promise<ExitCode> => setEnabled(call, false);

export const enableApp = (call: Call): Promise<ExitCode> => setEnabled(call, true);

export async function deleteApp(call: Call): Promise<ExitCode> {
  const id = tenantId(call, 'app');
  await call.admin.delete(id);
  return printResult(call, { json: { id, deleted: true }, text: `App ${id} was deleted.` });
}

async function setEnabled(call: Call, enabled: boolean): Promise<ExitCode> {
  const id = tenantId(call, 'app');
  await call.admin.setEnabled(id, enabled);
  const text = `App ${id} is ${enabled ? 'enabled' : 'disabled'}.`;
  return printResult(call, { json: { id, enabled }, text });
}

/** Which secrets are shown: all, none, or that of one key. */
type ShownSecrets = 'all' | 'none' | { readonly key: string };

function isShown(key: string, secrets: ShownSecrets): boolean {
  return typeof secrets === 'string' ? secrets === 'all' : secrets.key === key;
}

function shownApp(app: StoredApp, secrets: ShownSecrets): object {
  if (secrets === 'all') return app;
  const keys = app.keys.map((pair) => (isShown(pair.key, secrets) ? pair : { key: pair.key }));
  return { ...app, keys, settings: shownSettings(app.settings) };
}

interface AppOutput {
  readonly secrets: ShownSecrets;
  /** What to do next, for people. */
  readonly hint?: string;
  /** When its keys were last used. */
  readonly uses?: ShownKeyUses;
}

function printApp(call: Call, app: StoredApp, { secrets, hint, uses }: AppOutput): ExitCode {
  const { id, name, enabled, keys } = app;
  const settings = secrets === 'all' ? app.settings : shownSettings(app.settings);
  const words =
    uses &&
    usedWords(
      uses,
      keys.map(({ key }) => key),
    );
  const lines = [
    printable(`App ${id}${name === '' ? '' : ` (${name})`}${enabled ? '' : ', disabled'}`),
    ...keys.flatMap(({ key, secret }, place) => [
      `  key     ${key}`,
      `  secret  ${isShown(key, secrets) ? secret : '(see: apps show --secret)'}`,
      ...(words === undefined ? [] : [printable(`  used    ${words[place]}`)]),
    ]),
    ...(uses === undefined ? [] : awayWords(uses)),
    ...Object.entries(settings).map(([setting, value]) => `  ${setting}  ${JSON.stringify(value)}`),
    ...(hint === undefined ? [] : [hint]),
  ];
  const json = { ...shownApp(app, secrets), ...(uses && { keyUses: uses.known ?? null }) };
  return printResult(call, { json, text: lines.join('\n') });
}
