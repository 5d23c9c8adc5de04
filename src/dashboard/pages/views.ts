import type { OperationName } from '../api/client.ts';
import { asCurl, asFanfare } from '../api/command.ts';
import type { ViewCommand } from '../parts/view-commands.ts';
import type { PagePattern } from './table.ts';

/**
 * The commands that show in a shell what a page shows. Names such as `:app` are replaced by values from the page's
 * address.
 */
interface View {
  /** The operation that the page asks. */
  readonly operation: OperationName & `GET ${string}`;
  /** The variables of its path. */
  readonly path?: Readonly<Record<string, string>>;
  /** What it asks for besides the filters of the page. */
  readonly query?: Readonly<Record<string, string>>;
  /** The filters of the page, which are fields of its query. */
  readonly filters?: readonly string[];
  /** The filters that are `true` or absent: options without a value. */
  readonly flags?: readonly string[];
  /** The command that prints the same, if there is one. Fields of the query are its options. */
  readonly fanfare?: readonly string[];
}

const app = { id: ':app' };
const instance = { id: ':instance' };

/** The view of every page. `undefined`: the page offers commands of its own, or no command shows the same. */
const views: Readonly<Record<PagePattern, View | undefined>> = {
  '/': { operation: 'GET /conditions' },
  '/nodes': { operation: 'GET /nodes' },
  '/log': { operation: 'GET /log', filters: ['level', 'text'], fanfare: ['log'] },
  '/audit': { operation: 'GET /audit' },
  '/apps/:app/live': undefined,
  '/apps/:app/send': undefined,
  '/apps/:app/connect': undefined,
  '/apps/:app/channels': {
    operation: 'GET /apps/{id}/channels',
    path: app,
    filters: ['prefix'],
  },
  '/apps/:app/channels/:channel': {
    operation: 'GET /apps/{id}/channels/{name}',
    path: { ...app, name: ':channel' },
  },
  '/apps/:app/connections': {
    operation: 'GET /apps/{id}/connections',
    path: app,
    filters: ['user', 'channel', 'address'],
  },
  '/apps/:app/connections/:socket': {
    operation: 'GET /apps/{id}/connections/{socket}',
    path: { ...app, socket: ':socket' },
  },
  '/apps/:app/problems': { operation: 'GET /apps/{id}/problems', path: app },
  '/apps/:app/webhooks': {
    operation: 'GET /webhooks',
    query: { app: ':app' },
    filters: ['state'],
    fanfare: ['webhooks', 'list'],
  },
  '/apps/:app/webhooks/:webhook': {
    operation: 'GET /webhooks/{id}',
    path: { id: ':webhook' },
    fanfare: ['webhooks', 'show', ':webhook'],
  },
  '/apps/:app/usage': {
    operation: 'GET /apps/{id}/usage',
    path: app,
    filters: ['unit', 'days'],
  },
  '/apps/:app/keys': {
    operation: 'GET /apps/{id}',
    path: app,
    fanfare: ['apps', 'show', ':app'],
  },
  '/apps/:app/settings': {
    operation: 'GET /apps/{id}',
    path: app,
    fanfare: ['apps', 'show', ':app'],
  },
  '/push/:instance/live': undefined,
  '/push/:instance/compose': undefined,
  '/push/:instance/credentials': {
    operation: 'GET /instances/{id}/gateways',
    path: instance,
    fanfare: ['instances', 'show', ':instance'],
  },
  '/push/:instance/settings': {
    operation: 'GET /instances/{id}',
    path: instance,
    fanfare: ['instances', 'show', ':instance'],
  },
  '/push/:instance/publishes': {
    operation: 'GET /instances/{id}/publishes',
    path: instance,
    filters: ['state'],
    fanfare: ['push', 'list', ':instance'],
  },
  '/push/:instance/publishes/:publish': {
    operation: 'GET /instances/{id}/publishes/{publish}',
    path: { ...instance, publish: ':publish' },
    fanfare: ['push', 'status', ':publish'],
  },
  '/push/:instance/devices': {
    operation: 'GET /instances/{id}/devices',
    path: instance,
    filters: ['user', 'interest', 'id', 'platform', 'paused'],
    flags: ['paused'],
    fanfare: ['devices', 'list', ':instance'],
  },
  '/push/:instance/devices/:device': {
    operation: 'GET /instances/{id}/devices/{device}',
    path: { ...instance, device: ':device' },
  },
  '/users/:user': {
    operation: 'GET /users/{user}',
    path: { user: ':user' },
    filters: ['app', 'channel', 'instance'],
  },
};

type Texts = Readonly<Record<string, string>>;

/** The commands for a page: `values` are those of its pattern, `query` is that of its address. */
export function commandsOf(
  pattern: PagePattern,
  values: Texts,
  query: () => Texts,
): readonly ViewCommand[] {
  const view = views[pattern];
  if (view === undefined) return [];
  const filled = (text: string) => (text.startsWith(':') ? (values[text.slice(1)] ?? '') : text);
  const filledAll = (texts: Texts = {}) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text)]));
  const asked = () => ({
    ...filledAll(view.query),
    ...Object.fromEntries((view.filters ?? []).map((name) => [name, query()[name] ?? ''])),
  });
  const options = () =>
    Object.fromEntries(
      Object.entries(asked()).map(([name, value]) => [
        name,
        view.flags?.includes(name) ? value === 'true' : value,
      ]),
    );
  const { operation, path, fanfare } = view;
  return [
    {
      name: 'curl',
      text: () => asCurl<OperationName>(operation, { path: filledAll(path), query: asked() }),
    },
    ...(fanfare === undefined
      ? []
      : [{ name: 'fanfare', text: () => asFanfare(fanfare.map(filled), options()) } as const]),
  ];
}
